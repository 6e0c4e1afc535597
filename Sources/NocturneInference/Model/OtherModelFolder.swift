internal import Foundation
import NocturneSystem

/// Trained models of other tools, which people give in place of a model package.
enum OtherModelFolder {
    /// The most folders that are searched for one.
    private static let mostFolders = 2000

    /// What can be done about a folder that is not a package: `nocturne models import` makes a package of such a model. The
    /// folder above is looked at, and three levels below.
    static func advice(about folder: String) -> String {
        let command = "`nocturne models import"
        if let title = title(of: folder) {
            return "is \(title). Convert it with \(command) \(folder)`"
        }
        let above = FileSystem.parent(of: folder)
        let parent = above.isEmpty ? "." : above
        if let title = title(of: parent) {
            return "is a part of \(title). Convert the whole model with \(command) \(parent)`"
        }
        let found = models(below: folder)
        guard let first = found.first else {
            return
                "is not a model package: it has no \(ModelPackage.documentName). `nocturne models list` shows the installed ones"
        }
        if first.name.contains("TotalSegmentator") {
            return "contains weights of TotalSegmentator (\(first.name)). Convert them with "
                + "\(command) \(folder) --task TASK`, such as total"
        }
        let count = found.count == 1 ? "" : " and \(found.count - 1) more"
        return "contains \(first.title) (\(first.name)\(count)). Convert \(found.count == 1 ? "it" : "one") with "
            + "\(command) \(folder)/\(first.name)`"
    }

    /// What the folder holds, by the files that the tools write; nil for all others.
    private static func title(of folder: String) -> String? {
        func has(_ name: String) -> Bool { FileSystem.kind(folder + "/" + name) == .file }
        if has("plans.json"), has("dataset.json") { return "a trained nnU-Net model" }
        let configurations = ["metadata.json", "inference.json", "inference.yaml"].map { "configs/" + $0 }
        return configurations.contains(where: has) ? "a MONAI bundle" : nil
    }

    /// Level by level, in the order of names.
    private static func models(below folder: String) -> [(name: String, title: String)] {
        var (found, level, count): ([(name: String, title: String)], [String], Int) = ([], [""], 0)
        // The search ends with the first level that contains a model.
        for _ in 0..<4 where found.isEmpty {
            var next: [String] = []
            for name in level where count < mostFolders {
                let children = FileSystem.entries(name.isEmpty ? folder : folder + "/" + name).sorted()
                for child in children where count < mostFolders {
                    let path = name.isEmpty ? child : name + "/" + child
                    guard FileSystem.kind(folder + "/" + path) == .folder else { continue }
                    count += 1
                    if let title = title(of: folder + "/" + path) {
                        found.append((path, title))
                    } else {
                        next.append(path)
                    }
                }
            }
            level = next
        }
        return found
    }
}
