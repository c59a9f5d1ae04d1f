//! Nominations: which resource of which APIExport is answered by which webhook, folded into an immutable snapshot.
