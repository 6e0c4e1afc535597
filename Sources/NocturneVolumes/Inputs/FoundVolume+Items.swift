import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// What items for volumes have in common, whatever is done with them.
extension FoundVolume {
    /// Why an image of one slice is left to models for slices.
    static func singleSlice(_ shape: VolumeShape) -> ItemReason {
        .discovered(.singleSlice, "a single slice (\(own: shape)), not a volume")
    }

    /// The path relative to the input as given; for a series, that of its folder.
    var inputName: String {
        (try? volume.get())?.format == .dicom
            ? (files.first.map { FileSystem.parent(of: $0.name) } ?? "")
            : (files.first?.name ?? name)
    }

    /// How results show its names.
    func names(_ identifiers: IdentifierPolicy) -> ShownNames { ShownNames(identifiers, words: words) }

    /// What its header names it by, as results show it; empty for files that are not DICOM.
    func headerNames(_ identifiers: IdentifierPolicy) -> [DiscoveredItem.HeaderName: String] {
        guard let header else { return [:] }
        let names = names(identifiers)
        let patient = header.patient.map { names.patient($0.identifier, isRemoved: $0.isRemoved) }
        return [.patient: patient ?? "", .study: names.shown(header.study), .series: names.shown(header.series)]
    }

    /// What the journal stores of a volume that can be read.
    /// - Parameters:
    ///   - source: as its header states it.
    ///   - model: the id of the model package, or the name of a recipe without models.
    func source(_ source: VolumeSource, model: String, _ identifiers: IdentifierPolicy) -> VolumeSource {
        let shown = inputName
        var source = source
        source.model = model
        source.files = files.map(\.path)
        // Of files directly in an input, no folder remains.
        source.name = names(identifiers).shown(shown.isEmpty ? files.first?.folderName ?? name : shown)
        source.images = images.isEmpty ? nil : images.map(\.path)
        source.identifiers = identifiers
        source.words = words.isEmpty ? nil : words
        return source
    }

    /// What an item depends on besides the stamps of its files, in which the volumes of one file agree.
    var ownStamp: String? { timePoint.map { "volume \($0.index)" } }

    /// The stamps of all files by path.
    /// - Throws: `CancelledError`.
    static func stamps(of found: [FoundVolume], scope: ComputeScope) throws -> [String: FoundFile.Stamp] {
        var known: Set<String> = []
        let files = found.flatMap(\.allFiles).filter { known.insert($0.path).inserted }
        return try FoundFile.stamps(of: files, scope: scope)
    }
}

extension FoundFile {
    /// The stamps of files by path.
    /// - Throws: `CancelledError`.
    static func stamps(of files: [FoundFile], scope: ComputeScope) throws -> [String: Stamp] {
        let stamps = try scope.map(files.count) { files[$0].stamp }
        return Dictionary(zip(files.lazy.map(\.path), stamps)) { first, _ in first }
    }
}

extension DiscoveredItem {
    /// Stores a source; the item is refused if that is not possible.
    ///
    /// Last resort: if a reader lets a non-finite number through, discovery must still finish.
    mutating func record(_ source: some ItemSource) {
        do { self.source = try source.encoded } catch {
            self.problem = .refused(.discovered(.notRecordable, "its metadata cannot be encoded: \(error)"))
        }
    }
}
