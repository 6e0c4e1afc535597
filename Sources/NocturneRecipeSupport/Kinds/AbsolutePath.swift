import Foundation

/// A path that does not depend on the folder the command was given in.
package func absolutePath(_ path: String) -> String {
    let expanded = (path as NSString).expandingTildeInPath
    let whole = expanded.hasPrefix("/") ? expanded : FileManager.default.currentDirectoryPath + "/" + expanded
    return (whole as NSString).standardizingPath
}
