import Foundation

/// A path that does not depend on the current folder.
package func absolutePath(_ path: String) -> String {
    let expanded = (path as NSString).expandingTildeInPath
    let whole = expanded.hasPrefix("/") ? expanded : FileManager.default.currentDirectoryPath + "/" + expanded
    return (whole as NSString).standardizingPath
}
