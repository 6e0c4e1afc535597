import NocturneRecipeSupport

/// A path that does not depend on the folder the command was given in.
func absolutePath(_ path: String) -> String { NocturneRecipeSupport.absolutePath(path) }
