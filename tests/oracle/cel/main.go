// Command cel evaluates expressions with Kubernetes' own library and records what comes of it.
//
// `cel library` generates expressions over the whole library; `cel FILE` takes groups of cases from a file. Each
// expression is printed with its result: why it does not compile, or the value or error for every object of its group
// and the cost that was charged. `cel overloads` lists what functions there are, a signature a line.
// crates/schema/src/cel/oracle.rs compares the recorded tables with this project's results; Go is needed only to record
// anew:
//
//	cd tests/oracle/cel
//	go run . overloads > ../../../crates/schema/tests/data/cel-overloads.json
//	go run . library > ../../../crates/schema/tests/data/cel-library.json
//	go run . definitions.json > ../../../crates/schema/tests/data/cel-definitions.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// group is a schema with the objects and expressions that are tried on it.
type group struct {
	Schema      json.RawMessage   `json:"schema"`
	Objects     []json.RawMessage `json:"objects"`
	Expressions []string          `json:"expressions"`
}

// result is what came of one expression on one object.
type result struct {
	Value string `json:"v,omitempty"`
	Error string `json:"e,omitempty"`
	Cost  uint64 `json:"c"`
	// Unstable says that runs differ, because Go visits maps in no order.
	Unstable bool `json:"u,omitempty"`
}

// recorded is an expression with its results.
type recorded struct {
	Expression string   `json:"expression"`
	Compile    string   `json:"compile,omitempty"`
	Results    []result `json:"results,omitempty"`
}

type recordedGroup struct {
	Schema      json.RawMessage   `json:"schema"`
	Objects     []json.RawMessage `json:"objects"`
	Expressions []recorded        `json:"expressions"`
}

func main() {
	if len(os.Args) != 2 {
		check(fmt.Errorf("usage: cel overloads | cel library | cel FILE (groups of cases)"))
	}
	if os.Args[1] == "overloads" {
		writeOverloads()
		return
	}
	groups := []group{generated()}
	if os.Args[1] != "library" {
		text, err := os.ReadFile(os.Args[1])
		check(err)
		groups = nil
		check(json.Unmarshal(text, &groups))
	}
	fmt.Println("[")
	for i, g := range groups {
		write(record(g), i+1 == len(groups))
	}
	fmt.Println("]")
}

// line writes a value as JSON in one line.
func line(value any) string {
	var b bytes.Buffer
	writer := json.NewEncoder(&b)
	writer.SetEscapeHTML(false)
	check(writer.Encode(value))
	return strings.TrimSpace(b.String())
}

// write prints a group with an expression a line.
func write(g recordedGroup, last bool) {
	fmt.Printf("{\"schema\":%s,\n\"objects\":%s,\n\"expressions\":[\n", line(g.Schema), line(g.Objects))
	for i, e := range g.Expressions {
		end := ","
		if i+1 == len(g.Expressions) {
			end = ""
		}
		fmt.Println(line(e) + end)
	}
	if last {
		fmt.Println("]}")
	} else {
		fmt.Println("]},")
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func structural(raw json.RawMessage) *schema.Structural {
	props := &v1.JSONSchemaProps{}
	check(json.Unmarshal(raw, props))
	internal := &apiextensions.JSONSchemaProps{}
	check(v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil))
	s, err := schema.NewStructural(internal)
	check(err)
	return s
}

func record(g group) recordedGroup {
	s := structural(g.Schema)
	decl := model.SchemaDeclType(s, false).MaybeAssignTypeName("selfType")
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []celgo.EnvOption{celgo.Variable("self", decl.CelType()), celgo.Variable("oldSelf", decl.CelType())},
		DeclTypes:         []*apiservercel.DeclType{decl},
	})
	check(err)
	env := set.StoredExpressionsEnv()
	values := make([]ref.Val, len(g.Objects))
	for i, raw := range g.Objects {
		var object any
		check(utiljson.Unmarshal(raw, &object))
		values[i] = schemacel.UnstructuredToVal(object, s)
	}
	out := recordedGroup{Schema: g.Schema, Objects: g.Objects}
	for _, expression := range g.Expressions {
		out.Expressions = append(out.Expressions, evaluate(env, expression, values))
	}
	return out
}

func evaluate(env *celgo.Env, expression string, values []ref.Val) recorded {
	r := recorded{Expression: expression}
	ast, issues := env.Compile(expression)
	if issues != nil {
		r.Compile = issues.String()
		return r
	}
	program, err := env.Program(ast,
		celgo.CostLimit(celconfig.PerCallLimit),
		celgo.CostTracking(&library.CostEstimator{}),
		celgo.InterruptCheckFrequency(celconfig.CheckFrequency),
	)
	if err != nil {
		r.Compile = "program instantiation failed: " + err.Error()
		return r
	}
	for _, value := range values {
		res := run(program, value)
		for again := 0; again < 40; again++ {
			if run(program, value) != res {
				res = result{Unstable: true}
				break
			}
		}
		r.Results = append(r.Results, res)
	}
	return r
}

func run(program celgo.Program, self ref.Val) result {
	out, details, err := program.Eval(map[string]any{"self": self, "oldSelf": self})
	res := result{Cost: *details.ActualCost()}
	if err != nil {
		res.Error = err.Error()
	} else {
		res.Value = format(out)
	}
	return res
}

// format writes a value so that its type can be told, maps in the order of their keys.
func format(v ref.Val) string {
	switch v := v.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return "none"
		}
		return "some(" + format(v.GetValue()) + ")"
	case types.Int:
		return fmt.Sprintf("int(%d)", int64(v))
	case types.Uint:
		return fmt.Sprintf("uint(%d)", uint64(v))
	case types.Double:
		return fmt.Sprintf("double(%v)", float64(v))
	case types.Bool:
		return fmt.Sprintf("%t", bool(v))
	case types.String:
		return fmt.Sprintf("%q", string(v))
	case types.Bytes:
		return fmt.Sprintf("bytes(%x)", []byte(v))
	case types.Null:
		return "null"
	case types.Duration:
		return fmt.Sprintf("duration(%d)", int64(v.Duration))
	case types.Timestamp:
		return "timestamp(" + string(v.ConvertToType(types.StringType).(types.String)) + ")"
	case apiservercel.Quantity:
		return "quantity"
	case *apiservercel.Quantity:
		return "quantity"
	case apiservercel.IP:
		return "ip(" + v.Addr.String() + ")"
	case apiservercel.CIDR:
		return "cidr(" + v.Prefix.String() + ")"
	case apiservercel.URL:
		return "url(" + v.URL.String() + ")"
	case apiservercel.Semver:
		return "semver"
	case apiservercel.Format:
		return "format(" + v.Name + ")"
	case ref.Type:
		return "type(" + v.TypeName() + ")"
	case traits.Lister:
		var items []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, format(it.Next()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case traits.Mapper:
		var items []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			items = append(items, format(key)+": "+format(v.Get(key)))
		}
		sort.Strings(items)
		return "{" + strings.Join(items, ", ") + "}"
	case *types.Err:
		return "error(" + v.String() + ")"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%T", v)
	return b.String()
}
