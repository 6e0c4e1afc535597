import NocturneRecipeSupport

/// A path that does not depend on the current folder.
func absolutePath(_ path: String) -> String { NocturneRecipeSupport.absolutePath(path) }
