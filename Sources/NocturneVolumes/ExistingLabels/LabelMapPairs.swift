package import NocturneJournal

/// Which volume files among the inputs are label maps, and the images that they belong to: a decision by names and headers.
///
/// A file is a label map when
/// - the images have their own folder (`--label-images`): every file outside that folder;
/// - or it lies in a folder whose name begins with `labels`, as nnU-Net's `labelsTr`;
/// - or its header names labels, or has NIfTI's intent for labels;
/// - or its name ends with `seg`, `dseg`, `label`, `labels`, `mask` or `segmentation` after a separator, as in BIDS.
package struct LabelMapPairs {
    /// A label map, and the image that it labels.
    package struct Pair: Hashable {
        /// The label map.
        package let labels: FoundFile
        /// Nil where none was found.
        package let image: FoundFile?
    }

    /// In the order of the files. Images of other label maps are left out.
    package private(set) var pairs: [Pair] = []
    /// Files that are neither label maps nor images of one.
    package private(set) var others: [FoundFile] = []

    /// - Parameters:
    ///   - given: the folder of the images, and the files in it by their path relative to it; nil when none was given.
    ///   - labelled: paths of files whose headers state that they hold labels.
    package init(
        _ files: [FoundFile],
        images given: (folder: String, files: [String: FoundFile])?,
        labelled: Set<String>
    ) {
        let byPath = Dictionary(files.map { ($0.path, $0) }) { first, _ in first }
        var rest: [FoundFile] = []
        for file in files {
            if let given {
                guard !file.path.hasPrefix(given.folder + "/") else { continue }
                pairs.append(Pair(labels: file, image: Self.image(of: file, among: given.files)))
            } else if let candidates = Self.candidates(for: file) {
                pairs.append(Pair(labels: file, image: candidates.firstMatch(in: byPath)))
            } else if labelled.contains(file.path) {
                pairs.append(Pair(labels: file, image: nil))
            } else {
                rest.append(file)
            }
        }
        let images = Set(pairs.compactMap { $0.image?.path })
        pairs.removeAll { images.contains($0.labels.path) }
        others = rest.filter { !images.contains($0.path) }
    }

    /// The image with the label map's relative path or name, with or without the number of nnU-Net's first channel.
    private static func image(of labels: FoundFile, among images: [String: FoundFile]) -> FoundFile? {
        let stem = FoundVolume.stem(labels.name)
        let stems = [stem, FoundVolume.stem(labels.fileName)]
        for stem in stems.flatMap({ [$0 + "_0000", $0] }) {
            for ending in FoundVolume.endings { if let image = images[stem + ending] { return image } }
        }
        return nil
    }

    /// Where the image of a label map may lie, by the names of folder and file.
    private struct Candidates {
        let folder: String
        let stems: [String]
        /// Any other file whose name begins so, if there is exactly one.
        var prefix: String?

        func firstMatch(in files: [String: FoundFile]) -> FoundFile? {
            for stem in stems {
                for ending in FoundVolume.endings { if let file = files[folder + "/" + stem + ending] { return file } }
            }
            guard let prefix else { return nil }
            let found = files.values.filter {
                $0.folderPath == folder && $0.fileName.hasPrefix(prefix) && candidates(for: $0) == nil
            }
            return found.count == 1 ? found.first : nil
        }
    }

    private static func candidates(for file: FoundFile) -> Candidates? {
        let stem = FoundVolume.stem(file.fileName)
        let folder = file.folderPath
        let name = folder.lastIndex(of: "/").map { String(folder[folder.index(after: $0)...]) } ?? folder
        if name.hasPrefix("labels") {
            let images = String(folder.dropLast(name.count)) + "images" + name.dropFirst("labels".count)
            return Candidates(folder: images, stems: [stem + "_0000", stem])
        }
        let words = ["segmentation", "labels", "label", "dseg", "mask", "seg"]
        let lower = stem.lowercased()
        let found = words.first { word in ["_", "-", "."].contains { lower.hasSuffix($0 + word) } }
        guard let word = found else { return nil }
        let rest = String(stem.dropLast(word.count + 1))
        return rest.isEmpty ? nil : Candidates(folder: folder, stems: [rest, rest + "_0000"], prefix: rest + "_")
    }
}
