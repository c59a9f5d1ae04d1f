package main

import (
	"fmt"
	"sort"

	"k8s.io/apiserver/pkg/cel/environment"
)

// overload is one signature of a function.
type overload struct {
	Function string   `json:"function"`
	ID       string   `json:"id"`
	Member   bool     `json:"member,omitempty"`
	Args     []string `json:"args"`
	Result   string   `json:"result"`
}

// writeOverloads prints every signature of the environment that stored rules are compiled in.
func writeOverloads() {
	functions := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv().Functions()
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	sort.Strings(names)
	var lines []string
	for _, name := range names {
		for _, o := range functions[name].OverloadDecls() {
			signature := overload{Function: name, ID: o.ID(), Member: o.IsMemberFunction(), Args: []string{}}
			for _, arg := range o.ArgTypes() {
				signature.Args = append(signature.Args, arg.String())
			}
			signature.Result = o.ResultType().String()
			lines = append(lines, line(signature))
		}
	}
	fmt.Println("[")
	for i, l := range lines {
		if i+1 < len(lines) {
			l += ","
		}
		fmt.Println(l)
	}
	fmt.Println("]")
}
