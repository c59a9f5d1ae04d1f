use crate::go;

/// A string in double quotes as Go's `strconv.Quote` (the verb `%q`) writes it in Kubernetes' messages.
pub fn quote(text: &str) -> String {
    go::quote(text)
}
