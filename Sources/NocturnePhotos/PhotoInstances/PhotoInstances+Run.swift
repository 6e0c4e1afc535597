package import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

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

    /// Inference of one photo: a step for the network that finds instances, then one for the text on each of them. Nothing is
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

        package var stepCount: Int { 1 + (inferred?.reading?.decoded.instances.count ?? 0) }
        package var stepsDone: Int { inferred == nil ? 0 : 1 + (inferred?.reading?.texts.count ?? 0) }

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

        private func readNext(_ scope: ComputeScope) throws {
            guard let textModel = recipe.textModel, let reading = inferred?.reading else { return }
            let instance = reading.decoded.instances[reading.texts.count]
            let plain = CropDrawing.plain(instance, of: prepared.photo.image)
            let crop = CropDrawing.onWhite(CropDrawing.upright(instance, from: plain))
            do {
                inferred?.reading?.texts.append(try PhotoTextModel.Reading(of: crop, textModel, sessions, scope))
            } catch let error as InstanceError {
                throw NetworkOutputError(
                    path: prepared.record.path,
                    detail: "the output of the networks that read text cannot be used: \(error)"
                )
            }
        }

        /// Writes nothing: the steps are repeated instead.
        package func checkpoint(force: Bool, _ context: StageContext) throws {}

        package func finish(_ context: StageContext) throws -> InferredPhoto {
            guard let inferred else { preconditionFailure("an inference is finished before its steps") }
            for engine in textEngines { try engine.end(item) }
            return inferred
        }
    }
}
