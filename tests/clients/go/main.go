// A consumer with client-go's dynamic client and RESTMapper, and with controller-runtime's client; ../README.md says
// what it asks.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const namespace = "default"

var groupVersion = schema.GroupVersion{Group: "clients.example.org", Version: "v1"}

// Question is the typed form, as a provider's Go package would have it.
type Question struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              QuestionSpec   `json:"spec"`
	Status            QuestionStatus `json:"status,omitempty"`
}

// QuestionSpec is what is asked.
type QuestionSpec struct {
	Text string `json:"text"`
}

// QuestionStatus is the answer.
type QuestionStatus struct {
	Answer string `json:"answer,omitempty"`
	Count  int64  `json:"count,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (q *Question) DeepCopyObject() runtime.Object {
	copied := *q
	q.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// QuestionList is a list of them.
type QuestionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Question `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *QuestionList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = append([]Question(nil), l.Items...)
	return &copied
}

// refusal is what an error of a create must be.
type refusal struct {
	text any
	is   func(error) bool
	code int32
	says string
}

var refusals = []refusal{
	{int64(5), apierrors.IsInvalid, 422, "spec.text"},
	{"denied", apierrors.IsForbidden, 403, "ask somebody else"},
	{"garbage", apierrors.IsServiceUnavailable, 503, ""},
	{"contract", apierrors.IsInternalError, 500, ""},
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fail(err)
	}
	ctx := context.Background()
	mapping := discover(config)
	askDynamically(ctx, config, mapping)
	askTyped(ctx, config)
}

// discover finds the resource of the kind as kubectl and controllers do, aggregated and not.
func discover(config *rest.Config) schema.GroupVersionResource {
	found := schema.GroupVersionResource{}
	for _, legacy := range []bool{false, true} {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			fail(err)
		}
		client.UseLegacyDiscovery = legacy
		mapper := restmapper.NewShortcutExpander(
			restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client)), client, nil)
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: groupVersion.Group, Kind: "Question"})
		if err != nil {
			fail(err)
		}
		expect(mapping.Scope.Name() == "namespace", "scope %v", mapping.Scope.Name())
		found = mapping.Resource
		kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: "qn"})
		expect(err == nil && kind.Kind == "Question", "short name: %v %v", kind, err)
		_, err = mapper.RESTMapping(schema.GroupKind{Group: groupVersion.Group, Kind: "Nothing"})
		expect(err != nil, "an unknown kind is found")
	}
	return found
}

func askDynamically(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource) {
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		fail(err)
	}
	questions := dynamicClient.Resource(resource).Namespace(namespace)
	answer, err := questions.Create(ctx, question("ping"), metav1.CreateOptions{})
	if err != nil {
		fail(err)
	}
	text, _, _ := unstructured.NestedString(answer.Object, "status", "answer")
	count, _, _ := unstructured.NestedInt64(answer.Object, "status", "count")
	expect(text == "pong" && count == 1, "answer %v", answer)
	expect(strings.HasPrefix(answer.GetName(), "go-") && answer.GetNamespace() == namespace, "metadata %v", answer)

	for _, refusal := range refusals {
		_, err := questions.Create(ctx, question(refusal.text), metav1.CreateOptions{})
		refusal.check(err)
	}
	unknown := question("ping")
	_ = unstructured.SetNestedField(unknown.Object, "x", "spec", "more")
	_, err = questions.Create(ctx, unknown, metav1.CreateOptions{FieldValidation: "Strict"})
	expect(apierrors.IsBadRequest(err) && strings.Contains(err.Error(), `unknown field "spec.more"`), "strict: %v", err)

	list, err := questions.List(ctx, metav1.ListOptions{})
	expect(err == nil && len(list.Items) == 0, "list: %v %v", list, err)
	_, err = questions.Get(ctx, "nobody", metav1.GetOptions{})
	expect(apierrors.IsNotFound(err), "get: %v", err)
	_, err = questions.Watch(ctx, metav1.ListOptions{})
	expect(apierrors.IsMethodNotSupported(err), "watch: %v", err)
}

func askTyped(ctx context.Context, config *rest.Config) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Question{}, &QuestionList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	typed, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		fail(err)
	}
	ask := func(text string, options ...client.CreateOption) (*Question, error) {
		question := &Question{Spec: QuestionSpec{Text: text}}
		question.GenerateName, question.Namespace = "go-", namespace
		return question, typed.Create(ctx, question, options...)
	}
	answer, err := ask("ping")
	expect(err == nil && answer.Status == QuestionStatus{Answer: "pong", Count: 1}, "typed: %v %v", answer, err)
	answer, err = ask("ping", client.DryRunAll, client.FieldOwner("question"))
	expect(err == nil && answer.Status.Answer == "pong", "dry run: %v %v", answer, err)
	for _, refusal := range refusals {
		if text, ok := refusal.text.(string); ok {
			_, err := ask(text)
			refusal.check(err)
		}
	}
	list := &QuestionList{}
	err = typed.List(ctx, list, client.InNamespace(namespace))
	expect(err == nil && len(list.Items) == 0, "typed list: %v %v", list, err)
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(groupVersion.WithKind("QuestionList"))
	err = typed.List(ctx, metadata, client.InNamespace(namespace))
	expect(err == nil && len(metadata.Items) == 0, "list of metadata: %v %v", metadata, err)
	err = typed.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "nobody"}, &Question{})
	expect(apierrors.IsNotFound(err), "typed get: %v", err)
}

func question(text any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(),
		"kind":       "Question",
		"metadata":   map[string]any{"generateName": "go-"},
		"spec":       map[string]any{"text": text},
	}}
}

func (r refusal) check(err error) {
	status, isStatus := err.(apierrors.APIStatus)
	expect(isStatus && r.is(err), "%v: %v", r.text, err)
	expect(status.Status().Code == r.code, "%v: code %d", r.text, status.Status().Code)
	expect(strings.Contains(err.Error(), r.says), "%v: %v", r.text, err)
}

func expect(holds bool, format string, arguments ...any) {
	if !holds {
		fail(fmt.Errorf(format, arguments...))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
