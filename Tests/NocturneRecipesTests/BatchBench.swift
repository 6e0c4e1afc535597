import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Synchronization

extension SegmentationOptions {
    /// Without surfaces and pictures, which take most of the time of a small volume.
    static var labelsOnly: SegmentationOptions {
        var options = SegmentationOptions()
        (options.surfaces.meshes, options.pictures.preview) = (.none, .none)
        return options
    }
}

/// A batch in a fresh folder: inputs to be written, runs to be made, results to be looked at.
final class BatchBench: Sendable {
    let folder: TemporaryFolder
    let model: String
    /// Of runs that are given none.
    let options: SegmentationOptions

    /// - Parameter model: a package among the fixtures.
    convenience init(model: String = "Models/threshold", options: SegmentationOptions = .labelsOnly) throws {
        try self.init(options: options) { _ in Fixtures.url(model).path }
    }

    /// - Parameter makeModel: writes a package into the folder of the bench, and returns its path.
    init(options: SegmentationOptions = .labelsOnly, makeModel: (TemporaryFolder) throws -> String) throws {
        self.options = options
        folder = try TemporaryFolder("nocturne-batch")
        model = try makeModel(folder)
        try FileManager.default.createDirectory(at: folder("in"), withIntermediateDirectories: true)
    }

    var input: String { folder("in").path }
    var output: OutputFolder { OutputFolder(folder("out").path) }

    /// Writes a volume with a box of ones and zeros elsewhere, as int16.
    @discardableResult
    func addBox(
        _ name: String,
        shape: VolumeShape = VolumeShape(x: 20, y: 18, z: 24),
        at lower: Int = 4,
        edge: Int = 8,
        affine: Affine = .identity
    ) throws -> URL {
        var voxels = try VoxelBuffer<Float>(count: shape.count)
        for k in lower..<lower + edge {
            for j in lower..<lower + edge {
                for i in lower..<lower + edge { voxels[shape.offset(i, j, k)] = 1 }
            }
        }
        let volume = Volume(geometry: VolumeGeometry(shape: shape, affine: affine), voxels: voxels.frozen())
        let url = folder("in/\(name)")
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try NIfTIWriter.writeVolume(
            volume,
            as: .int16,
            forms: NIfTIForms(qformCode: 1, sformCode: 1),
            to: url.path,
            scope: .serial()
        )
        return url
    }

    /// Writes a file with several volumes, each with a box of its own edge and value, zeros elsewhere, as int16.
    func addSeries(_ name: String, _ boxes: [(edge: Int, value: Float)], secondsApart: Float? = 2.5) throws {
        let shape = VolumeShape(x: 20, y: 18, z: 24)
        var bytes: [UInt8] = []
        for (index, box) in boxes.enumerated() {
            var voxels = try VoxelBuffer<Float>(count: shape.count)
            for k in 4..<4 + box.edge {
                for j in 4..<4 + box.edge {
                    for i in 4..<4 + box.edge { voxels[shape.offset(i, j, k)] = box.value }
                }
            }
            let one = folder("volume.nii").path
            let forms = NIfTIForms(qformCode: 1, sformCode: 1)
            let volume = Volume(geometry: VolumeGeometry(shape: shape, affine: .identity), voxels: voxels.frozen())
            try NIfTIWriter.writeVolume(volume, as: .int16, forms: forms, to: one, scope: .serial())
            let offset = try VolumeFileReader.readHeader(at: one).dataOffset
            let content = try FileSystem.read(one)
            bytes += index == 0 ? content[...] : content[offset...]
        }
        func put(_ value: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: value.littleEndian) { bytes.replaceSubrange(offset..<offset + $0.count, with: $0) }
        }
        put(Int16(4), at: 40)
        put(Int16(boxes.count), at: 48)
        put((secondsApart ?? 0).bitPattern, at: 92)
        bytes[123] = secondsApart == nil ? 2 : 2 | 8
        try folder.write(bytes, to: "in/" + name)
    }

    func recipe(
        _ options: SegmentationOptions? = nil,
        engine: any InferenceEngine = BuiltinEngine()
    ) throws -> VolumeSegmentation {
        let package = try ModelPackage.load(folder: model)
        let loaded = try SegmentationModel(package: package, engine: engine, precision: .float32)
        return try VolumeSegmentation(models: [loaded], options: options ?? self.options)
    }

    /// Runs the batch in this process. `observe` sees every event.
    @discardableResult
    func run(
        _ options: SegmentationOptions? = nil,
        inputs: [String]? = nil,
        output: OutputFolder? = nil,
        threads: Int = 2,
        memoryBytes: Int? = 2 << 30,
        retryFailed: Bool = false,
        overwrite: Bool = false,
        previousDeath: String? = nil,
        supervisor: String? = nil,
        work: String? = nil,
        engine: any InferenceEngine = BuiltinEngine(),
        control: RunControl = RunControl(),
        observe: @escaping @Sendable (BatchEvent, RunControl) -> Void = { _, _ in }
    ) async throws -> BatchOutcome {
        var batch = try BatchOptions(
            (options ?? self.options).recorded,
            models: [model],
            inputs: inputs ?? [input],
            output: output ?? self.output,
            threads: threads,
            memoryBytes: memoryBytes
        )
        batch.rules.retries = retryFailed ? .all : .none
        batch.rules.isChangeConfirmed = overwrite
        batch.supervision = SupervisionState(supervisor: supervisor, previousCrash: previousDeath)
        batch.work = work
        return try await batch.run([try recipe(options, engine: engine)], control: control, observe: observe)
    }

    /// The label map of an item, in stored order.
    func labels(_ item: String, _ output: OutputFolder? = nil) throws -> [UInt16] {
        let path = (output ?? self.output).item(item) + "/segmentation.nii.gz"
        let read = try VolumeFileReader.readLabels(at: path, scope: .serial())
        return read.labels.voxels.array()
    }

    /// Every file that has to be the same in two runs, with its digest.
    func tree(_ output: OutputFolder? = nil) throws -> [String: String] {
        try (output ?? self.output).tree()
    }

    /// The reason the account gives for an item that did not complete.
    func reason(_ item: String) async throws -> String? {
        try await Journal.with(path: output.journal) { try await $0.items() }.first { $0.name == item }?.reason?.text
    }

    func state(_ item: String) async throws -> ItemState? {
        try await Journal.with(path: output.journal) { try await $0.items() }.first { $0.name == item }?.state
    }
}

/// For `observe` of a bench: cancels the run as the item with that number starts, from 1. Its flag is raised before its first
/// stage, so this item at least is not done.
func cancelling(atStart number: Int) -> @Sendable (BatchEvent, RunControl) -> Void {
    let seen = Mutex(0)
    return { event, control in
        guard event.event == .itemStarted else { return }
        let count = seen.withLock { seen in
            seen += 1
            return seen
        }
        if count == number { control.cancel() }
    }
}
