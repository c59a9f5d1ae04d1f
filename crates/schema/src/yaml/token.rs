/// A place in the text.
#[derive(Clone, Copy, Default)]
pub(super) struct Mark {
    /// Characters before it.
    pub(super) index: usize,
    /// Lines before it.
    pub(super) line: usize,
    /// Characters before it on its line.
    pub(super) column: usize,
}

pub(super) struct Token {
    pub(super) kind: Kind,
    /// Line on which it starts, counted from zero.
    pub(super) start: usize,
    /// Line on which it ends.
    pub(super) end: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    StreamStart,
    StreamEnd,
    /// A `%YAML` directive.
    Version {
        major: u8,
        minor: u8,
    },
    /// A `%TAG` directive.
    TagDirective {
        handle: String,
        prefix: String,
    },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag {
        handle: String,
        suffix: String,
    },
    Scalar {
        value: String,
        /// Whether it is neither quoted nor a block.
        plain: bool,
    },
}
