public import NocturneBatch
import NocturneConcurrency
import NocturneInference
import NocturneRecipeSupport
import NocturneSystem

/// Runs the classifier on one photo, and the attention graph for the class with the highest score: a single step.
public final class ClassificationRun: InferenceRun {
    /// A photo with its scores.
    public struct Scored: Sendable {
        let prepared: PhotoClassification.PreparedPhoto
        let scores: ClassScores
        let attention: AttentionMap?
        let notes: [String]
    }

    private let model: PhotoClassificationModel
    private let sessions: ClassificationSessions
    private let prepared: PhotoClassification.PreparedPhoto
    private var scored: Scored?

    init(
        model: PhotoClassificationModel,
        sessions: ClassificationSessions,
        prepared: PhotoClassification.PreparedPhoto
    ) {
        self.model = model
        self.sessions = sessions
        self.prepared = prepared
    }

    public var stepCount: Int { 1 }
    public var stepsDone: Int { scored == nil ? 0 : 1 }

    public func step(_ context: StageContext) throws {
        let (values, features) = try model.classify(
            picture: prepared.values,
            vector: prepared.vector,
            in: sessions,
            scope: context.scope
        )
        let scores: ClassScores
        do {
            scores = try ClassScores(values: values, settings: model.settings)
        } catch let fault as ClassScoreError {
            throw PhotoSourceError(path: prepared.source.photo.path, detail: fault.detail)
        }
        let (attention, notes) = try attention(features, index: scores.ranking[0], context)
        scored = Scored(prepared: prepared, scores: scores, attention: attention, notes: notes)
    }

    /// A map that fails becomes a note: the scores do not depend on it.
    private func attention(_ features: Tensor?, index: Int, _ context: StageContext) throws -> (AttentionMap?, [String])
    {
        guard let features else { return (nil, []) }
        do {
            let map = try model.attention(
                features: features,
                vector: prepared.vector,
                index: index,
                in: sessions,
                scope: context.scope
            )
            return (map, map?.isUniform == true ? [ReportText.uniformAttention] : [])
        } catch let error as CancelledError {
            throw error
        } catch let fault as ClassScoreError {
            return (nil, [ReportText.attentionFailed(fault.detail)])
        } catch {
            // An engine's message may contain local paths.
            return (nil, [ReportText.attentionFailed(ReportText.attentionNotRun)])
        }
    }

    /// A single step has no intermediate state.
    public func checkpoint(force: Bool, _ context: StageContext) throws {}

    public func finish(_ context: StageContext) throws -> Scored {
        guard let scored else { throw PhotoSourceError(path: prepared.source.photo.path, detail: "was not classified") }
        return scored
    }
}
