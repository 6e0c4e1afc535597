package import ArgumentParser
import Foundation
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

extension CompletionKind {
    /// Names of the packages on the search path, and folders.
    package static var model: CompletionKind { .custom { _, _, prefix in models(prefix) } }

    /// Folders that hold a batch, or else those on the way to one.
    package static var batch: CompletionKind { .custom { _, _, prefix in batches(prefix) } }

    /// - Parameter prefix: of a name or of a path.
    private static func models(_ prefix: String) -> [String] {
        let names = LoadedModels.usablePackages.map(\.id).filter { $0.hasPrefix(prefix) && isPlain($0) }
        // Without a name that fits, the user probably types the path of a package.
        return names.isEmpty ? folders(prefix).map { $0 + "/" } : Array(Set(names)).sorted()
    }

    /// Folders that hold a batch, or else those on the way to one, with a slash.
    private static func batches(_ prefix: String) -> [String] {
        let batches = batchFolders(prefix)
        return batches.isEmpty ? folders(prefix).map { $0 + "/" } : batches
    }

    /// The folders that hold a batch and whose paths begin so.
    package static func batchFolders(_ prefix: String) -> [String] {
        folders(prefix).filter { OutputFolder(absolutePath($0)).holdsBatch }
    }

    /// Whether no shell gives a character of a name a meaning. The script for bash passes names to `compgen -W`, which would run a
    /// command in one.
    private static func isPlain(_ name: String) -> Bool {
        name.allSatisfy { $0.isLetter || $0.isNumber || "._-+@:,=%/".contains($0) }
    }

    /// The folders with plain names whose paths begin with a prefix, as they are typed. Hidden ones only where the name typed begins with
    /// a dot.
    private static func folders(_ prefix: String) -> [String] {
        // As typed, and not as an absolute path: a shell only accepts what continues the word.
        let parent = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
        let start = prefix.dropFirst(parent.count)
        let place = parent.isEmpty ? "." : parent
        return FileSystem.entries(absolutePath(place)).sorted().filter { name in
            name.hasPrefix(start) && (start.hasPrefix(".") || !name.hasPrefix(".")) && isPlain(name)
                && FileSystem.isFolder(absolutePath(place) + "/" + name)
        }.map { parent + $0 }
    }
}
