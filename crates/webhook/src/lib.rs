//! The provider's SDK: a webhook that answers ephemeral resources, in a page of code.
