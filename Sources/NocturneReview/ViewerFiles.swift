import Foundation
import NocturneSystem

/// NiiVue, which shows volumes in the page. `Tools/install-niivue` installs it into a folder that is searched; without it the
/// page shows pictures only.
extension ReviewPage {
    /// The folder in which the viewer is installed; nil where it is not.
    package static var viewerFolder: String? {
        viewer.first.map { String($0.path.dropLast($0.name.count + 1)) }
    }

    private static let viewerNames = ["niivue.js", "niivue-LICENSE.txt"]

    /// Names in `review/` with the paths of the installed files; none where it is not installed.
    static var viewer: [(name: String, path: String)] {
        for folder in viewerFolders {
            let found = viewerNames.map { (name: $0, path: folder + "/" + $0) }
            if found.allSatisfy({ FileSystem.kind($0.path) == .file }) { return found }
        }
        return []
    }

    private static var viewerFolders: [String] {
        let environment = ProcessInfo.processInfo.environment
        let home =
            environment["XDG_DATA_HOME"].flatMap { $0.isEmpty ? nil : $0 }
            ?? environment["HOME"].map { $0 + "/.local/share" }
        return [environment["NOCTURNE_NIIVUE"], home.map { $0 + "/nocturne/niivue" }].compactMap(\.self)
    }
}
