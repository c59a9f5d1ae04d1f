package main

import (
	_ "embed"
	"regexp"
	"strings"
)

// librarySchema has a field of every type that rules meet.
const librarySchema = `{"type":"object","properties":{
"s":{"type":"string"},"t":{"type":"string"},"n":{"type":"string","nullable":true},"opt":{"type":"string"},
"i":{"type":"integer"},"j":{"type":"integer"},"d":{"type":"number"},"f":{"type":"number"},"b":{"type":"boolean"},
"by":{"type":"string","format":"byte"},"du":{"type":"string","format":"duration"},
"ts":{"type":"string","format":"date-time"},"da":{"type":"string","format":"date"},
"x":{"x-kubernetes-int-or-string":true},"y":{"x-kubernetes-int-or-string":true},
"ls":{"type":"array","items":{"type":"string"}},"li":{"type":"array","items":{"type":"integer"}},
"ld":{"type":"array","items":{"type":"number"}},"lb":{"type":"array","items":{"type":"boolean"}},
"lx":{"type":"array","items":{"x-kubernetes-int-or-string":true}},
"ll":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},
"ldu":{"type":"array","items":{"type":"string","format":"duration"}},
"lts":{"type":"array","items":{"type":"string","format":"date-time"}},
"lby":{"type":"array","items":{"type":"string","format":"byte"}},
"ln":{"type":"array","items":{"type":"string","nullable":true}},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"seti":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"integer"}},
"kl":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
 "items":{"type":"object","properties":{"k":{"type":"string"},"v":{"type":"integer"}}}},
"m":{"type":"object","additionalProperties":{"type":"integer"}},
"ms":{"type":"object","additionalProperties":{"type":"string"}},
"ml":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}},
"o":{"type":"object","properties":{"a":{"type":"integer"},"c":{"type":"string"},"in":{"type":"string"},
 "p":{"type":"object","properties":{"q":{"type":"integer"}}}}},
"pres":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"integer"}}},
"emb":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
"my-prop":{"type":"integer"},"x.y":{"type":"integer"},"a__b":{"type":"integer"},"namespace":{"type":"string"}}}`

// libraryObjects are tried with every expression over librarySchema: an ordinary one, one of extremes, an empty one.
var libraryObjects = []string{
	`{"s":"hello","t":"l","n":null,"opt":"given","i":3,"j":2,"d":2.5,"f":-0.5,"b":true,"by":"aGVsbG8=","du":"1h30m",
"ts":"2023-07-14T10:30:45.123Z","da":"2023-07-14","x":5,"y":"5%","ls":["b","a","c"],"li":[3,1,2],"ld":[1.5,0.5],
"lb":[true,false],"lx":[1,"a"],"ll":[[1,2],[3]],"ldu":["2s","1s"],"lts":["2023-07-14T10:30:45Z","2022-01-01T00:00:00Z"],
"lby":["Yg==","YQ=="],"ln":["a",null],"set":["b","a"],"seti":[2,1],"kl":[{"k":"b","v":2},{"k":"a","v":1}],
"m":{"a":1,"b":2},"ms":{"k":"v","w":"x"},"ml":{"l":["p","q"]},"o":{"a":7,"c":"seven","in":"reserved","p":{"q":9}},
"pres":{"a":1,"z":{"deep":[1,2]}},"emb":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod","labels":{"l":"m"}}},
"my-prop":11,"x.y":12,"a__b":13,"namespace":"ns"}`,
	`{"s":"Grüße, 世界 👋","t":"ü","i":9223372036854775807,"j":-1,"d":1e300,"f":0,"b":false,"by":"","du":"-1ns",
"ts":"0001-01-01T00:00:00Z","da":"1969-12-31","x":"text","y":-9223372036854775808,"ls":["a","a",""],
"li":[1,2,2,9223372036854775807],"ld":[0.1,0.2,0.3],"lb":[],"lx":[2,1],"ll":[[],[1]],"ldu":["1s"],"lts":[],"lby":[""],
"ln":[],"set":["a","b"],"seti":[1],"kl":[{"k":"a","v":1},{"k":"b","v":2}],"m":{"a":1},"ms":{"":"empty"},"ml":{},
"o":{"a":0},"pres":{},"emb":{"apiVersion":"v1","kind":"Secret","metadata":{"generateName":"g-"}},"namespace":""}`,
	`{}`,
}

// pools are what the placeholders of templates stand for. The first of each is tried with everything, the others one
// placeholder at a time.
var pools = map[string][]string{
	"s":   {"self.s", "'hello world'", "''", "'ünï'", "dyn(self.i)", "self.opt", "self.x"},
	"t":   {"self.t", "'o'", "''", "'lo'", "dyn(1)", "null"},
	"i":   {"self.j", "0", "1", "-1", "100", "dyn('1')", "1u", "1.0"},
	"n":   {"self.i", "self.d", "2", "2u", "2.5", "0", "-3", "dyn(self.s)", "self.x", "self.y"},
	"b":   {"self.b", "true", "false", "dyn(self.i)", "self.opt == 'given'"},
	"li":  {"self.li", "[3, 1, 2]", "[]", "self.seti", "dyn(self.s)", "self.ld", "self.ls"},
	"ls":  {"self.ls", "['x', 'y']", "self.set", "dyn([])", "dyn([1])", "self.ln"},
	"m":   {"self.m", "{'a': 1}", "{}", "self.ms", "dyn(self.s)"},
	"any": {"self.s", "self.i", "self.d", "self.b", "self.by", "self.du", "self.ts", "self.da", "self.x", "self.y", "self.ls", "self.li", "self.ll", "self.set", "self.kl", "self.m", "self.ms", "self.o", "self.n", "self.opt", "null", "1u", "type(1)", "optional.none()", "optional.of(1)", "b'x'", "self.pres", "self.emb", "{1: 'a'}", "[1, 2]", "quantity('1')", "ip('1.2.3.4')", "cidr('10.0.0.0/8')", "semver('1.2.3')", "url('http://a')", "format.dns1123Label()"},
	"re":  {"'l+'", "'^h.*o$'", "'['", "self.t", "''", "'(?i)H'", "'\\\\d'", "'\\\\pL'", "dyn(1)", "'\\\\p{Cs}'", "'\\\\p{IsGreek}'", "'(?'", "'(?P<n>l)(?P<n>l)'", "'(?<n>l)'", "'(?=l)'", "'(l)\\\\1'", "'l{1001}'", "'(l{10}){101}'", "'^.{5}$'", "'^\\\\w+$'", "'\\\\bü'", "'(?s)h.l'", "'[[:alpha:]]$'", "'[[:foo:]]'", "'\\\\Qe\\\\El'", "'l**'", "'(?U)l+'", "'(?i)ſ'", "'\\\\x{1F44B}'", "'$^'"},
	"q":   {"'1Gi'", "'1.5'", "'100m'", "'-2k'", "'1e3'", "'0'", "'x'", "''", "'1ee'", "'12E'", "'0.0000000001'", "'99999999999999999999'", "'1Ki1'", "self.s", "'1e-9'", "'.5'", "'5.'", "'+1'", "'1i'", "'9223372036854775807'", "'-9223372036854775808'", "'1000000000000000000000000000'"},
	"ip":  {"'192.168.0.1'", "'::1'", "'2001:DB8::1'", "'0.0.0.0'", "'127.0.0.1'", "'224.0.0.5'", "'169.254.1.1'", "'fe80::1'", "'ff02::1'", "'::ffff:1.2.3.4'", "'1.2.3'", "'1.2.3.4.5'", "'01.2.3.4'", "'1.2.3.256'", "'fe80::1%eth0'", "'::'", "'1::2::3'", "'g::'", "'12345::'", "'1:2:3:4:5:6:7:8'", "'1:2:3:4:5:6:7'", "'255.255.255.255'", "'1:2:3:4:5:6:1.2.3.4'", "''", "'x'", "'%'", "'1..2.3'", "self.s", "'2001:db8:0:0:1:0:0:1'", "'::1.2.3.4'", "'1:'", "'1:2'"},
	"c":   {"'10.0.0.0/8'", "'10.1.2.3/8'", "'2001:db8::/32'", "'::/0'", "'0.0.0.0/0'", "'10.0.0.0'", "'10.0.0.0/33'", "'10.0.0.0/08'", "'10.0.0.0/-1'", "'10.0.0.0/x'", "'x/8'", "'::ffff:1.2.3.4/100'", "'fe80::%e/10'", "'10.0.0.0/'", "self.s", "'192.168.1.0/24'", "'10.0.0.0/99999999999999999999'"},
	"v":   {"'1.2.3'", "'1.2.3-alpha.1'", "'1.2.3+build.5'", "'v1.2'", "'1.2'", "'1'", "''", "'01.2.3'", "'1.2.3-01'", "'1.2.x'", "'1.2.3-'", "'1.2.3+'", "'1.2.3-a!b'", "'1.2.3+a!b'", "'99999999999999999999.0.0'", "'v1.02.003-rc1'", "'x.2.3'", "'1..3'", "self.s", "'1.2-x'", "'1.2.3-alpha'", "'1.2.3-beta+x'"},
	"u":   {"'https://user:pw@example.com:8443/a/b%2Fc?q=1&q=2&r=#frag'", "'http://[::1]:80/'", "'/path?x=y'", "'mailto:a@b'", "'http://a b/'", "'http://a/%zz'", "'http://host:port/'", "''", "'x'", "'*'", "'http://'", "'HTTP://EXAMPLE.com'", "'http://[::1'", "'http://[1.2.3.4]/'", "'http://a/?q=a+b%20c;d&e'", "'http://ex%41mple.com/'", "'http://münchen.de/ü?ü=ü'", "'://a'", "'1http://a'", "'http://a/b c'", "'http://a/b?'", "'//host/path'", "'http://a:b:c/'", "'http://u@h/'", "'http://a[b/'", "self.s", "'http://[fe80::1%25en0]:80/'", "'file:///etc'", "'http://a\\n'"},
	"f":   {"'hello'", "'-bad'", "''", "'a.b'", "'UPPER'", "'example.com/name'", "'trailing-'", "'550e8400-e29b-41d4-a716-446655440000'", "'aGVsbG8='", "'2023-07-14'", "'2023-07-14T10:30:45Z'", "'https://a/b'", "'0123456789012345678901234567890123456789012345678901234567890123456789'", "'1abc'", "'a/b/c'", "'/x'", "'under_score'", "self.s"},
	"fn":  {"dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime"},
	"ts":  {"self.ts", "timestamp('2020-02-29T23:59:59.999Z')", "timestamp('2023-01-01T05:30:00+02:00')", "self.da", "timestamp(0)", "dyn(self.i)", "self.du", "timestamp('9999-12-31T23:59:59Z')"},
	"tz":  {"'America/Los_Angeles'", "'UTC'", "''", "'-08:00'", "'+05:30'", "'Nowhere/Zone'", "'x:y'", "'Asia/Kolkata'", "'europe/berlin'", "'5:30'", "'-0:30'", "':'"},
	"du":  {"self.du", "duration('1s')", "duration('1000h')", "duration('-1ns')", "dyn(self.s)", "duration('9223372036s')"},
	"op":  {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"},
	"get": {"getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds"},
	"cv":  {"string", "int", "uint", "double", "bool", "bytes", "duration", "timestamp", "type", "dyn"},
	"lit": {"'1'", "'-1'", "'1.5'", "'true'", "'x'", "''", "1", "-1", "1u", "1.5", "-1.5", "1e30", "true", "null", "b'abc'", "'1h'", "'1.5h30m'", "'2023-07-14T10:30:45Z'", "'2023-07-14'", "duration('90m')", "timestamp('2023-07-14T10:30:45.5+01:00')", "9223372036854775807", "18446744073709551615u", "'0x10'", "'1e3'", "'NaN'", "'Infinity'", "'inf'", "'+5'", "'1_0'", "'T'", "'tRUE'", "253402300800", "-62135596801", "123456789.0", "0.000001", "1000000.0", "[1]", "{'a': 1}", "int", "b'\\xff'", "'9223372036854775808'"},
	"fmt": {"'%s'", "'%d'", "'%f'", "'%.2f'", "'%e'", "'%.3e'", "'%b'", "'%x'", "'%X'", "'%o'", "'%'", "'%%'", "'%q'", "'%.f'", "'%.2'", "'a%sb%%c'"},
}

// templates are the expressions, with the names of pools in braces.
var templates = []string{
	// operators
	"{n} {op} {n}", "{s} {op} {t}", "{li} {op} {li}", "{any} == {any}", "{any} != {any}", "{any} < {any}", "{any} + {any}", "{any} in {any}", "{any} - {any}",
	"!{b}", "-{n}", "{b} && {b}", "{b} || {b}", "{b} ? {s} : {t}", "{any} == dyn({any})", "dyn({any}) < dyn({any})", "dyn({any}) + dyn({any})", "dyn({n}) {op} dyn({n})",
	"{du} {op} {du}", "{ts} {op} {ts}", "{ts} {op} {du}", "{du} {op} {ts}", "self.by {op} b'hello'",
	"{n} in {li}", "{s} in {ls}", "{s} in {m}", "{any} in [1, 2]", "{any} in ['a', 'hello']", "{any} in [1.0, 2.0]", "1 in []", "{n} in [1u, 3u]", "self.x in [5, 6]", "self.i in [self.i]",
	// access
	"self.opt", "has(self.opt)", "has(self.o)", "has(self.o.a)", "has(self.o.p.q)", "self.o.p.q", "self.o.p", "self.o.__in__", "self.my__dash__prop", "self.x__dot__y", "self.a__underscores__b", "self.__namespace__", "has(self.n)", "self.n", "self.undeclared", "self.o.undeclared", "self.s.x", "undeclared", "self.pres.a", "self.pres.z", "has(self.pres.a)", "self.emb.kind", "self.emb.metadata.name", "self.emb.metadata.labels", "has(self.emb.metadata.generateName)", "self.emb.spec",
	"self.m.a", "self.m['b']", "self.m[{s}]", "self.ms.k", "has(self.m.a)", "has(self.m.zz)", "self.li[{i}]", "self.ll[0][1]", "{li}[{i}]", "{m}[{t}]", "self.kl[0].k", "self.kl[0].v", "{'a': {'b': 1}}.a.b", "{1: 'a'}[{i}]", "{1: 'a', 2: 'b'}[1u]", "{1.5: 'a'}[1.5]", "{true: 1}[self.b]", "[1, 2][{i}]", "self.ml.l[0]", "self.ml['l'][1]", "(self.b ? self.li : [9])[0]", "(self.b ? self.o : self.o).a", "(self.b ? {'a': 1} : {'a': 2}).a", "has((self.b ? self.o : self.o).a)", "self.li[self.li[0]]", "self.li[int(self.d)]", "self.m[self.ls[1]]", "self.o['a']",
	// sizes and conversions
	"size({any})", "{any}.size()", "type({any})", "type({any}) == type({any})", "{cv}({lit})", "{cv}({any})", "{cv}(dyn({any}))", "type(self.x) == int", "type(self.o) == map", "string(self.x)", "int(self.x)", "bool", "net.IP", "google.protobuf.Timestamp", "type(net.IP)",
	// strings
	"{s}.contains({t})", "{s}.startsWith({t})", "{s}.endsWith({t})", "{s}.matches({re})", "matches({s}, {re})", "{s}.charAt({i})", "{s}.indexOf({t})", "{s}.indexOf({t}, {i})", "{s}.lastIndexOf({t})", "{s}.lastIndexOf({t}, {i})", "{s}.lowerAscii()", "{s}.upperAscii()", "'ÄbC'.lowerAscii()", "'ÄbC'.upperAscii()", "{s}.replace({t}, {t})", "{s}.replace({t}, 'XX', {i})", "{s}.split({t})", "{s}.split({t}, {i})", "{s}.substring({i})", "{s}.substring({i}, {i})", "{s}.trim()", "' \\t\\u00a0x\\u2003 '.trim()", "{ls}.join()", "{ls}.join({t})", "strings.quote({s})", "strings.quote('a\\n\\t\\\"\\\\\\a\\b\\f\\r\\v')", "{fmt}.format([{any}])", "{fmt}.format([{lit}])", "'%s %d %s'.format([self.s, self.i, self.b])", "'%s'.format([[self.s, self.i, self.d]])", "'%s'.format([])", "'%s'.format([1, 2])", "self.s.format([self.i])", "'%d'.format(self.li)", "'%s'.format(self.ls)", "'%s'.format([{'a': 1, 'b': 'x'}])", "'%s'.format([[1.5, 2.0]])", "'%s'.format([[duration('1h'), self.ts]])", "'%s'.format([[b'abc', null, true, int]])", "self.s.reverse()",
	// regular expressions
	"{s}.find({re})", "{s}.findAll({re})", "{s}.findAll({re}, {i})", "'abc 123 def 456'.findAll('[0-9]+')", "'abc'.find('x')", "'aaa'.findAll('')",
	// lists
	"{li}.isSorted()", "{li}.sum()", "{li}.max()", "{li}.min()", "{li}.indexOf({n})", "{li}.lastIndexOf({n})", "{ls}.isSorted()", "{ls}.max()", "{ls}.min()", "{ls}.indexOf({s})", "{ls}.lastIndexOf({t})", "self.ld.sum()", "self.ld.max()", "self.ldu.sum()", "self.ldu.max()", "self.lts.max()", "self.lts.isSorted()", "self.lby.min()", "self.lb.isSorted()", "self.lb.max()", "[].sum()", "[].max()", "self.ls.sum()", "self.ll.isSorted()", "{any}.includes({any})", "self.li.includes({n})", "self.ls.includes({s})", "self.ll.indexOf([3])", "self.kl.indexOf(self.kl[1])",
	"{li}.slice({i}, {i})", "{li}.slice(0, {i})", "self.ll.flatten()", "self.ll.flatten({i})", "self.li.flatten()", "[[1, [2]], [[3]]].flatten(2)", "[1, [2]].flatten()", "{li}.sort()", "{ls}.sort()", "self.ld.sort()", "self.lts.sort()", "self.ldu.sort()", "self.lb.sort()", "self.lby.sort()", "self.ll.sort()", "self.lx.sort()", "[].sort()", "self.kl.sortBy(e, e.k)", "self.kl.sortBy(e, e.v).map(e, e.k)", "self.li.sortBy(e, -e)", "[].sortBy(e, e)", "self.ll.sortBy(e, e)", "lists.range({i})", "lists.range(self.j)", "lists.range(10)", "lists.range(1000001)", "{li}.reverse()", "{ls}.reverse()", "{li}.distinct()", "{ls}.distinct()", "[1, 1u, 1.0, 2].distinct()", "self.kl.distinct()", "{li}.first()", "{li}.last()", "self.ls.first().value()", "[].last().hasValue()",
	"self.set == ['a', 'b']", "self.set == self.ls", "['b', 'a'] == self.set", "self.set + ['z', 'a']", "self.seti + [1, 5]", "self.seti == [1, 2]", "self.kl == self.kl", "self.kl + self.kl", "self.kl == self.kl + []", "self.li + self.li", "self.li == [3, 1, 2]", "[3, 1, 2] == self.li", "self.ls == self.ls", "self.ln[0] == 'a'", "null in self.ln", "self.ln.all(e, e != null)", "self.ln == ['a', null]", "self.o == self.o", "self.m == {'a': 1, 'b': 2}", "{'a': 1, 'b': 2} == self.m", "self.pres == self.pres", "self.emb == self.emb", "self.o.p == self.o.p", "self.x == self.y", "self.x == 5", "self.x == '5%'", "self.x != 5",
	// sets
	"sets.contains({li}, {li})", "sets.equivalent({li}, {li})", "sets.intersects({li}, {li})", "sets.contains({ls}, {ls})", "sets.contains(self.ls, ['a'])", "sets.equivalent([1, 1], [1])", "sets.intersects([1], [1u, 1.0])", "sets.contains(self.ll, [[3]])",
	// macros
	"self.li.all(e, e > 0)", "self.li.all(e, e > 1)", "self.li.exists(e, e == 2)", "self.li.exists_one(e, e == 2)", "self.li.existsOne(e, e > 1)", "self.li.filter(e, e > 1)", "self.li.map(e, e * 2)", "self.li.map(e, e > 1, e * 2)", "self.m.all(k, self.m[k] > 0)", "self.m.exists(k, k == 'b')", "self.m.map(k, k)", "self.m.filter(k, k != 'a')", "self.li.all(i, v, i >= 0 && v > 0)", "self.li.exists(i, v, i == v)", "self.li.existsOne(i, v, v == 2)", "self.li.exists_one(i, v, v == 2)", "self.li.transformList(i, v, i + v)", "self.li.transformList(i, v, v > 1, v * i)", "self.m.transformMap(k, v, v * 2)", "self.m.transformMap(k, v, v > 1, v * 2)", "self.m.transformMapEntry(k, v, {string(v): k})", "self.m.transformMapEntry(k, v, v > 1, {k + k: v})", "self.li.transformMap(i, v, v)", "self.li.transformMapEntry(i, v, {'same': v})", "self.m.all(k, v, k != '' && v > 0)", "self.ms.exists(k, v, v == 'x')", "self.li.all(e, self.ls.exists(f, f == string(e)))", "self.li.map(e, self.ls.map(f, f + string(e)))", "self.kl.all(e, e.v > 0)", "self.kl.exists(e, e.k == 'a' && e.v == 1)", "self.kl.map(e, e.k)", "self.s.all(c, true)", "self.x.all(c, true)", "dyn(self.s).map(c, c)", "self.li.all(e, 1 / (e - 1) >= 0)", "self.li.exists(e, 1 / (e - 1) >= 0)", "self.li.map(e, 1 / (e - 1))", "self.li.filter(e, 1 / (e - 1) > 0)", "self.li.all(e, dyn(e))", "[].all(e, e)", "{}.all(e, e)", "self.li.all(e, e, true)", "self.li.all(1, true)", "self.li.all(e, e > 0) && self.ls.all(e, e != '')", "self.ll.all(l, l.all(e, e > 0))", "self.li.map(e, [e])", "self.li.map(e, {'v': e})", "self.li.filter(e, e in self.li)", "self.lx.all(e, type(e) == int)", "self.li.map(e, e).map(e, e).map(e, e)",
	// optionals
	"self.?opt", "self.?opt.hasValue()", "self.?opt.orValue('d')", "self.?o.a.orValue(0)", "self.?o.?p.?q.orValue(1)", "self.o.?a", "self.m[?'a']", "self.m[?'zz'].orValue(9)", "self.li[?0]", "self.li[?9].orValue(-1)", "optional.of(self.i).value()", "optional.none().value()", "optional.ofNonZeroValue({any})", "optional.ofNonZeroValue({lit})", "self.?opt.or(optional.of('z')).value()", "optional.none().or(optional.none())", "self.?opt.optMap(o, o + '!')", "self.?opt.optMap(o, o + '!').orValue('none')", "self.?opt.optFlatMap(o, optional.of(o.size()))", "self.?o.optMap(o, o.a)", "optional.of(1) == optional.of(1)", "optional.of(1) == optional.none()", "optional.of(optional.of(1)).value().value()", "optional.unwrap([optional.of(1), optional.none()])", "[optional.of(1), optional.none()].unwrapOpt()", "[?self.?opt, 'x']", "[?optional.none(), 'x']", "{?'a': self.?opt}", "{?'a': optional.none(), 'b': 'c'}", "has(self.?o.a)", "self.?undeclared", "type(optional.of(1))", "self.?opt == optional.of('given')", "self.?n", "self.?li[0]", "self.?m['a'].orValue(5)", "self.?ls.orValue([]).size()", "self.?opt.orValue(self.undeclared)", "dyn(self.i).orValue(1)",
	// time
	"{ts}.{get}()", "{ts}.{get}({tz})", "{du}.getHours()", "{du}.getMinutes()", "{du}.getSeconds()", "{du}.getMilliseconds()", "{ts} - {ts}", "{ts} + {du}", "string({ts})", "string({du})", "int({ts})", "int({du})", "duration('x')", "timestamp('x')", "duration(self.s)", "timestamp(self.s)", "self.ts > timestamp('2020-01-01T00:00:00Z')", "self.da < self.ts", "self.du + duration('9223372036.5s')", "timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp('0001-01-01T00:00:00Z') - duration('1s')",
	// Kubernetes' types
	"quantity({q})", "isQuantity({q})", "sign(quantity({q}))", "quantity({q}).isGreaterThan(quantity({q}))", "quantity({q}).isLessThan(quantity({q}))", "quantity({q}).compareTo(quantity({q}))", "quantity({q}).asInteger()", "quantity({q}).isInteger()", "quantity({q}).asApproximateFloat()", "quantity({q}).add(quantity({q})).asApproximateFloat()", "quantity({q}).sub(quantity({q})).compareTo(quantity('1'))", "quantity({q}).add({i}).asApproximateFloat()", "quantity({q}).sub(3).isInteger()", "quantity({q}) == quantity({q})", "quantity({q}) != quantity('1')", "quantity('1') == 1", "isQuantity(self.i)", "quantity(self.x)",
	"ip({ip})", "isIP({ip})", "ip.isCanonical({ip})", "ip({ip}).family()", "ip({ip}).isUnspecified()", "ip({ip}).isLoopback()", "ip({ip}).isLinkLocalMulticast()", "ip({ip}).isLinkLocalUnicast()", "ip({ip}).isGlobalUnicast()", "string(ip({ip}))", "ip({ip}) == ip({ip})", "ip('::1') == 1", "type(ip('::1'))",
	"cidr({c})", "isCIDR({c})", "cidr({c}).containsIP({ip})", "cidr({c}).containsIP(ip({ip}))", "cidr({c}).containsCIDR({c})", "cidr({c}).containsCIDR(cidr({c}))", "cidr({c}).ip()", "cidr({c}).prefixLength()", "cidr({c}).masked()", "string(cidr({c}))", "cidr({c}) == cidr({c}).masked()", "cidr('10.0.0.0/8').containsIP(self.x)",
	"semver({v})", "isSemver({v})", "isSemver({v}, true)", "semver({v}, true).major()", "semver({v}).major()", "semver({v}).minor()", "semver({v}).patch()", "semver({v}).isGreaterThan(semver({v}))", "semver({v}).isLessThan(semver('1.2.3'))", "semver({v}).compareTo(semver({v}))", "semver({v}) == semver({v})", "semver('1.2.3') == '1.2.3'",
	"url({u})", "isURL({u})", "url({u}).getScheme()", "url({u}).getHost()", "url({u}).getHostname()", "url({u}).getPort()", "url({u}).getEscapedPath()", "url({u}).getQuery()", "url({u}) == url({u})", "url('http://a').getQuery()['x']", "url({u}).getHost() == self.s",
	"format.{fn}().validate({f})", "format.{fn}().validate(self.s)", "format.named('{fn}').value().validate({f})", "format.named({s})", "format.named('nothing').hasValue()", "format.{fn}()", "format.dns1123Label() == format.named('dns1123Label').value()", "format.dns1123Label() == format.uuid()",
	// the authorizer, of which there is no value
	"dyn({s}).path('/p')", "dyn(self.i).path({s})", "dyn(self.s).group({s}).resource('pods')", "dyn(self.s).serviceAccount('ns', {s})", "dyn(self.s).resource({s})", "dyn(self.s).subresource({s})", "dyn(self.s).namespace({s})", "dyn(self.s).name({s})", "dyn(self.s).fieldSelector({s})", "dyn(self.s).labelSelector({t})", "dyn(self.s).check({s})", "dyn(self.i).check('get').allowed()", "dyn(self.s).errored()", "dyn(self.s).error()", "dyn(self.s).allowed()", "dyn(self.m).reason()", "self.s.path('/p')", "self.s.allowed()", "dyn(self.s).path(1)", "null.allowed()", "authorizer.path('/p')", "dyn(self.s).path('/p').check('get').reason() == ''",
	// what does not compile
	"1 +", "self.", "self.s == 1", "self.s + self.i", "self.li + self.ls", "[1, 'a']", "{'a': 1, 'b': 'c'}", "unknown()", "self.s.unknown()", "size()", "size(1)", "size(self.s, self.s)", "self.s.startsWith(1)", "self.s.startsWith()", "self.i.startsWith('a')", "self.li.sum(1)", "quantity(1)", "ip(1)", "self.s.matches('[')", "has(self)", "has(self.s, self.t)", "self.all(k, true)", "math.abs(1)", "cel.bind(a, 1, a)", "base64.encode(b'a')", "self.o.a.b", "self.i ? 1 : 2", "1 ? 2 : 3", "!1", "-'a'", "true && 1", "google.protobuf.Duration{seconds: 1}", "x", "self.b && unknown", "dyn(self).s", "dyn(self).undeclared", "self == self", "`s`", "self.`s`", "a.b.c()", "self.s.replace('a')", "self.ts.getHours(1)", "1u + 1", "1 + 1.0", "1 == 1.0", "1 < 1.0", "1u < -1", "1 == 1u", "null == 1", "null == self.o", "self.o == null", "self.s == null", "self.li == null", "self.du == null", "[null, 1]", "true == 1",
	// literals
	"'a' 'b'", "\"dq\\u00e9\\x41\\101\\U0001f431\"", "'''triple\n'quoted' '''", "r'raw\\n'", "b'\\xff\\377a'", "0x1F", "-0x1F", "1e3", ".5", "1.", "9223372036854775808", "-9223372036854775808", "18446744073709551616u", "'\\q'", "1u", "0xFFu", "// comment\n1", "[1, 2, 3,]", "{'a': 1,}", "{}", "[]", "{'a': 1}['a']", "[[1], [2]][1][0]", "true ? 1 : false ? 2 : 3", "1 + 2 * 3 - 4 / 2 % 3", "!true || !!false", "- - 1", "-(-(1))", "1 < 2 == true", "1 in [1] && !(2 in [1])",
}

var placeholder = regexp.MustCompile(`\{([a-z]+)\}`)

// expand fills in a template: the first of each pool, then every other of one pool at a time.
func expand(template string) []string {
	spots := placeholder.FindAllStringSubmatchIndex(template, -1)
	var known [][]int
	for _, spot := range spots {
		if _, ok := pools[template[spot[2]:spot[3]]]; ok {
			known = append(known, spot)
		}
	}
	fill := func(which, with int) string {
		out, end := "", 0
		for i, spot := range known {
			pool := pools[template[spot[2]:spot[3]]]
			choice := 0
			if i == which {
				choice = with
			}
			out += template[end:spot[0]] + pool[choice]
			end = spot[1]
		}
		return out + template[end:]
	}
	out := []string{fill(-1, 0)}
	for i, spot := range known {
		for j := 1; j < len(pools[template[spot[2]:spot[3]]]); j++ {
			out = append(out, fill(i, j))
		}
	}
	return out
}

// crossed is every combination of operators and functions with values of every type that has them, so that each
// overload is called.
func crossed() []string {
	var out []string
	for _, left := range []string{"3", "self.j", "self.d", "2u", "0u", "-0.5"} {
		for _, right := range []string{"3", "self.j", "self.d", "2u", "0u", "-0.5"} {
			for _, op := range []string{"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!="} {
				out = append(out, left+" "+op+" "+right)
			}
		}
	}
	for _, op := range []string{"<", "<=", ">", ">=", "==", "!="} {
		out = append(out, "self.b "+op+" true", "false "+op+" self.b", "self.by "+op+" b'hello'")
	}
	for _, list := range []string{"[3, 1]", "[3u, 1u]", "[1.5, 0.5]", "[true, false]", "self.lb", "self.ldu", "self.lts", "self.lby", "['b', 'a']"} {
		for _, function := range []string{"isSorted", "max", "min", "sort", "sum", "distinct", "reverse", "first", "last"} {
			out = append(out, list+"."+function+"()")
		}
	}
	for _, key := range []string{"e", "uint(e)", "-double(e)", "e > 1", "duration(string(e) + 's')", "timestamp(-e)", "string(e)", "bytes(string(e))", "[e]", "dyn(e)"} {
		out = append(out, "self.li.sortBy(e, "+key+")", "[2, 1].sortBy(e, "+key+")")
	}
	for _, function := range []string{"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"} {
		for _, value := range []string{"true", "b'7'", "1.5", "7", "7u", "'7'", "self.b", "self.by", "self.d", "self.i", "uint(self.j + 9)", "self.du", "self.ts", "self.s", "ip('::1')", "cidr('::/8')", "[1]", "{'a': 1}", "null", "int", "self.x"} {
			out = append(out, function+"("+value+")")
		}
	}
	return append(out, "self.?li[?0]", "self.?li[?9]", "self.?m[?'a']", "self.?m[?'zz']", "self.?ll[?0][?1]", "self.?ml[?'l'][0]")
}

// messages are those that can be made: the well-known types of protocol buffers.
//
//go:embed messages.txt
var messages string

// generated is the group over the whole library.
func generated() group {
	g := group{Schema: []byte(librarySchema)}
	for _, object := range libraryObjects {
		g.Objects = append(g.Objects, []byte(object))
	}
	seen := map[string]bool{}
	add := func(expressions []string) {
		for _, expression := range expressions {
			if !seen[expression] {
				seen[expression] = true
				g.Expressions = append(g.Expressions, expression)
			}
		}
	}
	for _, template := range templates {
		add(expand(template))
	}
	add(crossed())
	add(strings.Split(strings.TrimSpace(messages), "\n"))
	return g
}
