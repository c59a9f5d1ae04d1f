//! Paths to fields, linked on the stack: a walk makes one per level and nothing is allocated until an error is met.

use std::fmt;

/// A path from the root of an object to one of its fields.
///
/// It prints as Kubernetes' `field.Path` prints, the root as `<nil>`.
///
/// ```
/// use structural_schema::field::Path;
///
/// let root = Path::root();
/// let spec = root.child("spec");
/// let ports = spec.child("ports");
/// assert_eq!(ports.index(0).child("name").to_string(), "spec.ports[0].name");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    element: Element<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Element<'a> {
    Root,
    Name(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The root of an object.
    pub const fn root() -> Self {
        Self {
            parent: None,
            element: Element::Root,
        }
    }

    /// A field by its name: `.name`.
    #[must_use]
    pub const fn child(&'a self, name: &'a str) -> Self {
        self.then(Element::Name(name))
    }

    /// A value of a map by its key: `[key]`.
    #[must_use]
    pub const fn key(&'a self, key: &'a str) -> Self {
        self.then(Element::Key(key))
    }

    /// An item of a list: `[index]`.
    #[must_use]
    pub const fn index(&'a self, index: usize) -> Self {
        self.then(Element::Index(index))
    }

    const fn then(&'a self, element: Element<'a>) -> Self {
        Self {
            parent: Some(self),
            element,
        }
    }

    /// Whether this is the root.
    pub const fn is_root(&self) -> bool {
        matches!(self.element, Element::Root)
    }

    /// The path as pruning (`UnknownFieldPathOptions`) and kube-openapi tell it: every key as it is, an empty one too; the
    /// root is empty.
    pub(crate) fn joined(&self) -> String {
        let mut joined = String::new();
        for (i, element) in self.elements().into_iter().enumerate() {
            match element {
                Element::Root => {}
                Element::Name(name) | Element::Key(name) => {
                    joined.extend([if i == 0 { "" } else { "." }, name]);
                }
                Element::Index(index) => joined.extend(["[", &index.to_string(), "]"]),
            }
        }
        joined
    }

    fn elements(&self) -> Vec<Element<'a>> {
        let mut elements = Vec::new();
        let mut next = Some(*self);
        while let Some(path) = next {
            if !path.is_root() {
                elements.push(path.element);
            }
            next = path.parent.copied();
        }
        elements.reverse();
        elements
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("<nil>");
        }
        for (i, element) in self.elements().into_iter().enumerate() {
            match element {
                Element::Root => {}
                Element::Name("") => f.write_str("[]")?,
                Element::Name(name) if i == 0 => f.write_str(name)?,
                Element::Name(name) => write!(f, ".{name}")?,
                Element::Key(key) => write!(f, "[{key}]")?,
                Element::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_kubernetes_prints_them() {
        let root = Path::root();
        assert_eq!(root.to_string(), "<nil>");
        assert_eq!(root.joined(), "");
        let spec = root.child("spec");
        assert_eq!(spec.key("a.b").index(3).child("c").to_string(), "spec[a.b][3].c");
        assert_eq!(spec.child("").to_string(), "spec[]");
        assert_eq!(spec.child("").joined(), "spec.");
        assert_eq!(root.child("").joined(), "");
        assert_eq!(root.child("a.b[0]").index(1).child("c").joined(), "a.b[0][1].c");
    }
}
