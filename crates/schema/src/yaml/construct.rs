//! Makes a value of the nodes, as go-yaml's decoder and then `sigs.k8s.io/yaml` and `encoding/json` do.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::compose::{Content, Document, Node, NodeId, compose};
use super::error::{DuplicateKeys, Error};
use super::resolve::{BINARY, MERGE, Scalar, resolve, resolve_tagged};
use super::tree::{Entries, Items, Key, Tree, into_json};
use super::{base64, reader};
use crate::json::{self, MAX_DEPTH, replace_invalid};
use crate::value::{Value, deeper};

/// Bytes of strings that aliases may repeat. go-yaml counts nodes only, so that a few thousand aliases of one long
/// string make it write gigabytes.
const MAX_ALIASED_BYTES: usize = 16 * 1024 * 1024;

/// What a text holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value of the first document; `null` if there is none. Where a key is given more than once, the last one
    /// counts.
    pub value: Value,
    /// The keys that a mapping has more than once: an error for a strict decoder.
    pub duplicates: Option<DuplicateKeys>,
}

/// Decodes a text as `sigs.k8s.io/yaml`'s `YAMLToJSON` does, and the JSON that it yields as Kubernetes does.
///
/// What follows the first document is not looked at. Takes time linear in the text and in what its aliases expand to,
/// which go-yaml's budget bounds, and memory of no more than some fifty times that.
pub fn decode(text: &[u8]) -> Result<Decoded, Error> {
    let source = reader::read(text);
    let Some(document) = compose(&source)? else {
        return Ok(Decoded {
            value: Value::Null,
            duplicates: None,
        });
    };
    let mut constructor = Constructor {
        document: &document,
        expanding: HashSet::new(),
        budget: AliasBudget::default(),
        depth: 0,
        duplicates: Vec::new(),
    };
    let tree = constructor.tree(document.root)?;
    let duplicates = constructor.duplicates;
    Ok(Decoded {
        value: into_json(tree)?,
        duplicates: (!duplicates.is_empty()).then_some(DuplicateKeys(duplicates)),
    })
}

struct Constructor<'a> {
    document: &'a Document,
    /// The aliases that are being expanded.
    expanding: HashSet<NodeId>,
    budget: AliasBudget,
    /// Number of arrays and objects that are open.
    depth: usize,
    duplicates: Vec<String>,
}

/// The entries of a mapping under construction.
#[derive(Default)]
struct Fields<'a> {
    entries: Vec<(Key<'a>, Tree<'a>)>,
    places: HashMap<Key<'a>, usize>,
}

impl<'a> Constructor<'a> {
    fn node(&self, id: NodeId) -> &'a Node {
        self.document.node(id)
    }

    fn tree(&mut self, id: NodeId) -> Result<Tree<'a>, Error> {
        self.budget.count()?;
        match &self.node(id).content {
            Content::Scalar { tag, value, implicit } => self.scalar(tag.as_deref(), value, *implicit),
            Content::Alias { name, target } => self.expand(id, name, |constructor| constructor.tree(*target)),
            Content::Sequence(items) => self.nested(b'[', |constructor| {
                let items = items.iter().map(|item| constructor.tree(*item));
                Ok(Tree::Sequence(Items(items.collect::<Result<_, _>>()?)))
            }),
            Content::Mapping(children) => self.nested(b'{', |constructor| {
                let mut fields = Fields::default();
                constructor.mapping(children, &mut fields)?;
                Ok(Tree::Mapping(Entries(fields.entries)))
            }),
        }
    }

    /// Constructs an array or object, if JSON may be that deep.
    fn nested(
        &mut self,
        byte: u8,
        construct: impl FnOnce(&mut Self) -> Result<Tree<'a>, Error>,
    ) -> Result<Tree<'a>, Error> {
        if self.depth == MAX_DEPTH {
            return Err(Error::Json(json::Error::UnexpectedByte {
                byte,
                context: "exceeded max depth",
                offset: 0,
            }));
        }
        self.depth += 1;
        let value = deeper(|| construct(self));
        self.depth -= 1;
        value
    }

    fn expand<T>(
        &mut self,
        alias: NodeId,
        name: &str,
        construct: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.expanding.insert(alias) {
            return Err(Error::without_line(format!("anchor '{name}' value contains itself")));
        }
        self.budget.depth += 1;
        let value = deeper(|| construct(self));
        self.budget.depth -= 1;
        self.expanding.remove(&alias);
        value
    }

    fn mapping(&mut self, children: &[NodeId], fields: &mut Fields<'a>) -> Result<(), Error> {
        for pair in children.chunks_exact(2) {
            let (key, value) = (pair[0], pair[1]);
            if self.is_merge(key) {
                deeper(|| self.merge(value, fields))?;
                continue;
            }
            let key = deeper(|| self.key(key))?;
            let line = self.node(value).line + 1;
            let value = self.tree(value)?;
            if fields.set(key.clone(), value) {
                let key = key.go_syntax();
                self.duplicates
                    .push(format!("line {line}: key {key} already set in map"));
            }
        }
        Ok(())
    }

    fn is_merge(&self, id: NodeId) -> bool {
        match &self.node(id).content {
            Content::Scalar { tag, value, implicit } => {
                &**value == "<<" && (*implicit || tag.as_deref() == Some(MERGE))
            }
            _ => false,
        }
    }

    /// Sets the fields of what a merge key names. In go-yaml v2 they replace those that are there.
    fn merge(&mut self, id: NodeId, fields: &mut Fields<'a>) -> Result<(), Error> {
        if let Content::Sequence(items) = &self.node(id).content {
            // Earlier ones are to win, so they come last.
            for item in items.iter().rev() {
                self.merge_one(*item, fields)?;
            }
            return Ok(());
        }
        self.merge_one(id, fields)
    }

    fn merge_one(&mut self, id: NodeId, fields: &mut Fields<'a>) -> Result<(), Error> {
        match &self.node(id).content {
            Content::Mapping(children) => {
                self.budget.count()?;
                self.mapping(children, fields)
            }
            Content::Alias { name, target } => {
                let Content::Mapping(children) = &self.node(*target).content else {
                    return Err(not_a_map());
                };
                self.budget.count()?;
                self.expand(id, name, |constructor| {
                    constructor.budget.count()?;
                    constructor.mapping(children, fields)
                })
            }
            _ => Err(not_a_map()),
        }
    }

    fn key(&mut self, id: NodeId) -> Result<Key<'a>, Error> {
        Ok(match self.tree(id)? {
            Tree::Null => Key::Null,
            Tree::Bool(bool) => Key::Bool(bool),
            Tree::Int(int) => Key::Int(int),
            Tree::Uint(int) => Key::Uint(int),
            Tree::Float(float) => Key::Float(float.to_bits()),
            Tree::String(string) => Key::String(string),
            key @ (Tree::Sequence(_) | Tree::Mapping(_)) => {
                let problem = format!("invalid map key: {}", key.go_syntax());
                return Err(Error::without_line(problem));
            }
        })
    }

    fn scalar(&mut self, tag: Option<&str>, text: &'a str, implicit: bool) -> Result<Tree<'a>, Error> {
        self.budget.count_bytes(text.len())?;
        let scalar = match tag {
            None if implicit => resolve(text),
            None => Scalar::String(text),
            Some(BINARY) => {
                let bytes = base64::decode(text)?;
                return Ok(Tree::String(Cow::Owned(replace_invalid(&bytes).into_owned())));
            }
            Some(tag) => resolve_tagged(tag, text)?,
        };
        Ok(match scalar {
            Scalar::Null => Tree::Null,
            Scalar::Bool(bool) => Tree::Bool(bool),
            Scalar::Int(int) => Tree::Int(int),
            Scalar::Uint(int) => Tree::Uint(int),
            Scalar::Float(float) => Tree::Float(float),
            Scalar::String(string) | Scalar::Timestamp(string) => Tree::String(Cow::Borrowed(string)),
        })
    }
}

fn not_a_map() -> Error {
    Error::without_line("map merge requires map or sequence of maps as the value")
}

impl<'a> Fields<'a> {
    /// Sets a field, and says whether there was one like it.
    fn set(&mut self, key: Key<'a>, value: Tree<'a>) -> bool {
        // No NaN is like another.
        let like = self.places.get(&key.normal()).filter(|_| !key.is_nan());
        if let Some(&place) = like {
            self.entries[place] = (key, value);
            return true;
        }
        self.places.insert(key.normal(), self.entries.len());
        self.entries.push((key, value));
        false
    }
}

/// How much of a document may come out of aliases: go-yaml's defence against the billion laughs.
#[derive(Default)]
struct AliasBudget {
    /// Nodes constructed. The document itself is one, but is counted only where it matters.
    nodes: u32,
    /// Nodes constructed for an alias.
    aliased_nodes: u32,
    aliased_bytes: usize,
    /// Number of aliases that are being expanded.
    depth: usize,
}

impl AliasBudget {
    /// Up to so many nodes, 99% may come from aliases.
    const FEW: f64 = 400_000.0;
    /// From so many nodes on, 10% may.
    const MANY: f64 = 4_000_000.0;

    fn count(&mut self) -> Result<(), Error> {
        self.nodes += 1;
        if self.depth > 0 {
            self.aliased_nodes += 1;
        }
        let all = self.nodes + 1;
        if self.aliased_nodes > 100 && all > 1000 && self.ratio(all) > Self::allowed_ratio(f64::from(all)) {
            return Err(excessive_aliasing());
        }
        Ok(())
    }

    fn ratio(&self, all: u32) -> f64 {
        f64::from(self.aliased_nodes) / f64::from(all)
    }

    fn allowed_ratio(all: f64) -> f64 {
        if all <= Self::FEW {
            0.99
        } else if all >= Self::MANY {
            0.10
        } else {
            0.99 - 0.89 * ((all - Self::FEW) / (Self::MANY - Self::FEW))
        }
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), Error> {
        if self.depth > 0 {
            self.aliased_bytes += bytes;
            if self.aliased_bytes > MAX_ALIASED_BYTES {
                return Err(excessive_aliasing());
            }
        }
        Ok(())
    }
}

fn excessive_aliasing() -> Error {
    Error::without_line("document contains excessive aliasing")
}
