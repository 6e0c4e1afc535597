import Foundation
import Glibc
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturnePictures
import NocturnePostprocess
import NocturneSystem

/// The file of `--rois` as an option: its path and a digest of its content.
package struct RegionInstruction: Sendable, Hashable {
    /// Absolute.
    package var path: String
    /// SHA-256 of the content, in hexadecimal.
    package var digest: String

    /// What the journal has. The file is not read.
    package init(path: String, digest: String) {
        self.path = path
        self.digest = digest
    }

    /// Reads the file and checks that it can be used.
    /// - Throws: `BatchError`.
    package init(path: String) throws {
        self.init(path: path, digest: try RegionMeasures.read(path).digest)
    }
}

/// Measures the regions of a file on the volumes they apply to.
struct RegionMeasures: Sendable {
    private let file: RegionFile

    /// - Throws: `BatchError` when the file cannot be used or has changed since the batch was started.
    init(_ instruction: RegionInstruction) throws {
        let (file, digest) = try Self.read(instruction.path)
        guard digest == instruction.digest else {
            throw BatchError(
                .optionsDiffer,
                path: instruction.path,
                detail: "the regions changed since the batch was started"
            )
        }
        self.file = file
    }

    static func read(_ path: String) throws -> (file: RegionFile, digest: String) {
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(path, limit: RegionFile.maximumBytes)
        } catch {
            throw BatchError(
                .inputMissing,
                path: "",
                detail: error.unreadable("the file of regions \(path)", option: "--rois")
            )
        }
        do throws(RegionFileError) {
            return (try RegionFile(bytes, path: path), ContentDigest.of(bytes).hex)
        } catch {
            throw BatchError(.inputMissing, path: "", detail: error.description)
        }
    }

    /// Remarks on patterns that fit no item.
    /// - Parameters:
    ///   - items: calls its closure with the name and the source of each item.
    ///   - paths: of what an item was read from, relative to the input as given.
    func unmatchedPatterns<Source>(
        _ items: (_ body: (_ name: String, _ source: Source) throws -> Bool) throws -> Void,
        _ paths: KeyPath<Source, [String]>
    ) throws -> [String] {
        var left = Set(file.entries.flatMap { $0.items ?? [] })
        guard !left.isEmpty else { return [] }
        try items { name, source in
            let names = Self.names(name, source[keyPath: paths])
            left = left.filter { pattern in !names.contains { fnmatch(pattern, $0, 0) == 0 } }
            return !left.isEmpty
        }
        return left.sorted().map {
            "regions: no item is called \($0); `nocturne plan` shows the names of items"
        }
    }

    /// By which regions name an item.
    private static func names(_ item: String, _ paths: [String]) -> [String] {
        [item]
            + paths.flatMap { path in
                let file = (path as NSString).lastPathComponent
                return [path, file, FoundVolume.stem(file)]
            }
    }

    /// Bytes for the largest region on this grid: regions are measured one after the other.
    func predictedBytes(in geometry: VolumeGeometry, threads: Int) -> Int {
        file.entries.map { RegionMeasurement.predictedBytes(of: $0.region, in: geometry, threads: threads) }.max() ?? 0
    }

    /// Measures the regions that apply to an item. Of several with one name, the first is used and a note is added.
    /// - Parameter paths: of what the item was read from, relative to the input as given.
    func measure(
        on image: Volume,
        of item: String,
        _ paths: [String],
        scope: ComputeScope
    ) throws -> MeasuredRegions {
        let names = Self.names(item, paths)
        var (regions, notes): ([(RegionOfInterest, RegionMeasurement)], [Note]) = ([], [])
        var seen: Set<String> = []
        for entry in self.file.entries where entry.isFor(names) {
            try scope.check()
            guard seen.insert(entry.region.name).inserted else {
                notes.append(
                    Note("region.repeated", "region \(entry.region.name): an earlier region of this name is measured")
                )
                continue
            }
            let measured = try RegionMeasurement.measure(entry.region, on: image, scope: scope)
            regions.append((entry.region, measured))
            switch measured.status {
            case .complete: break
            case .cut:
                notes.append(
                    Note("region.cut", "region \(measured.name) extends beyond the volume; only a part is measured")
                )
            case .outside:
                notes.append(Note("region.outside", "region \(measured.name) lies outside the volume"))
            case .notMeasured:
                notes.append(
                    Note("region.notMeasured", "region \(measured.name) is not measured: \(measured.problem ?? "")")
                )
            }
        }
        return MeasuredRegions(regions: regions, notes: notes)
    }
}

/// The regions that apply to an item, and what was found.
struct MeasuredRegions: Sendable {
    var regions: [(RegionOfInterest, RegionMeasurement)] = []
    var notes: [Note] = []

    var measurements: [RegionMeasurement] { regions.map(\.1) }

    /// Writes ``RegionPicture`` into the item's staging folder, which exists.
    /// - Returns: the name of the file.
    /// - Throws: `PictureError`, `FileSystemError`, `CancelledError`.
    func writePicture(_ pictures: Preview, unit: String?, into context: StageContext) throws -> String {
        let drawing = RegionPicture(image: pictures.volume, window: pictures.window, unit: unit)
        try PNGWriter.write(
            drawing.draw(regions, scope: context.scope),
            to: context.staging + "/" + RegionPicture.file
        )
        return RegionPicture.file
    }

    /// The note where not all regions are drawn.
    var pictureNote: Note? {
        guard regions.count > RegionPicture.maximumCount else { return nil }
        return Note(
            "region.notAllDrawn",
            "\(own: RegionPicture.file) shows the first \(RegionPicture.maximumCount) of \(regions.count) regions"
        )
    }
}

extension RegionFile.Entry {
    fileprivate func isFor(_ names: [String]) -> Bool {
        guard let items else { return true }
        return items.contains { pattern in names.contains { fnmatch(pattern, $0, 0) == 0 } }
    }
}
