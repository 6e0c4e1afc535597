package import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

extension PhotoInstances {
    /// The network's outputs for a picture, or what was made of them.
    package struct InferredPhoto: Sendable {
        let record: PhotoRecord
        let photo: Photo
        let frame: Letterbox
        var outputs: [String: Tensor]
        let used: EngineInUse
        /// Why there are no outputs; only with the fallback to a single item, otherwise the photo fails.
        let failure: String?
        /// Takes the place of the outputs; nil without a package that reads text.
        var reading: InstanceTexts?
    }

    /// The instances in a picture and the text on each.
    struct InstanceTexts: Sendable {
        let decoded: DecodedPhoto
        var texts: [PhotoTextModel.Reading] = []
        /// What runs the networks that read text.
        let engine: ResultEngine
        let notes: [Note]
    }

    /// Inference of one photo: a step for the network that finds instances, then one for the text on each of them, of which
    /// several are done at the same time. Nothing is
    /// checkpointed.
    package final class Run: InferenceRun {
        private let recipe: PhotoInstances
        private let model: PhotoInstancesModel
        private let sessions: PhotoSessions
        private let prepared: PreparedPhoto
        /// The name of the item.
        private let item: String
        private let used: EngineInUse
        private let textEngines: [EngineInUse]
        private var inferred: InferredPhoto?

        init(
            _ recipe: PhotoInstances,
            model: PhotoInstancesModel,
            _ sessions: PhotoSessions,
            _ prepared: PreparedPhoto,
            item: String
        ) {
            self.recipe = recipe
            self.model = model
            self.sessions = sessions
            self.prepared = prepared
            self.item = item
            used = model.engineInUse
            textEngines = recipe.textModel?.enginesInUse ?? []
        }

        /// The instances to be read are known only after the first step: the number grows then.
        package var stepCount: Int { 1 + (inferred?.reading?.decoded.instances.count ?? 0) }
        /// Of the text, one for each instance that was read.
        package var stepsDone: Int { inferred == nil ? 0 : 1 + (inferred?.reading?.texts.count ?? 0) }

        /// Finds the instances, or reads the text on some of them.
        package func step(_ context: StageContext) throws {
            if inferred == nil {
                inferred = try findInstances(context.scope)
            } else {
                try readNext(context.scope)
            }
        }

        private func findInstances(_ scope: ComputeScope) throws -> InferredPhoto {
            var outputs: [String: Tensor] = [:]
            var failure: String?
            do {
                outputs = try model.run(prepared.input, in: sessions, scope: scope)
            } catch let error as ModelFormatError where recipe.options.usesSingleItemFallback {
                failure = "\(error)"
            }
            try used.end(item)
            var inferred = InferredPhoto(
                record: prepared.record,
                photo: prepared.photo,
                frame: prepared.frame,
                outputs: outputs,
                used: used,
                failure: failure
            )
            if let first = textEngines.first {
                inferred.reading = InstanceTexts(
                    decoded: try recipe.decode(inferred, scope),
                    engine: first.engine,
                    notes: first.notes.filter { !used.notes.contains($0) }
                )
                inferred.outputs = [:]
            }
            return inferred
        }

        /// Instances of a step for each that is read at the same time, so that few wait for the last of a step.
        private static let instancesPerLane = 4

        /// Reads the text on the next instances.
        private func readNext(_ scope: ComputeScope) throws {
            guard let textModel = recipe.textModel, let reading = inferred?.reading else { return }
            let lanes = textModel.lanes(threads: scope.width)
            let left = reading.decoded.instances.dropFirst(reading.texts.count)
            let instances = Array(left.prefix(Self.instancesPerLane * lanes))
            let sessions = ParallelValue(sessions.lanes(lanes))
            // Where several instances are read at the same time, each of them has one thread.
            let inner = lanes == 1 ? scope : scope.serial
            let found = Mutex([Int: Result<PhotoTextModel.Reading, any Error>]())
            let next = Atomic(0)
            try scope.forEach(lanes) { [image = prepared.photo.image] lane in
                while !inner.flag.isCancelled {
                    let index = next.add(1, ordering: .relaxed).oldValue
                    guard index < instances.count else { return }
                    let plain = CropDrawing.plain(instances[index], of: image)
                    let crop = CropDrawing.onWhite(CropDrawing.upright(instances[index], from: plain))
                    let own = sessions.value[lane]
                    let text = Result { try PhotoTextModel.Reading(of: crop, textModel, own, inner) }
                    found.withLock { $0[index] = text }
                }
            }
            do {
                let texts = try found.withLock { found in try instances.indices.compactMap { try found[$0]?.get() } }
                inferred?.reading?.texts += texts
            } catch let error as NetworkOutputError {
                throw NetworkOutputError(
                    path: prepared.record.path,
                    detail: "the output of the networks that read text cannot be used: \(error)"
                )
            }
        }

        /// Writes nothing: the steps are repeated instead.
        package func checkpoint(force: Bool, _ context: StageContext) throws {}

        /// - Throws: `DeviceFault` where a device failed meanwhile.
        package func finish(_ context: StageContext) throws -> InferredPhoto {
            guard let inferred else { preconditionFailure("an inference is finished before its steps") }
            for engine in textEngines { try engine.end(item) }
            return inferred
        }
    }
}
