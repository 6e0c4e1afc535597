import NocturneCore
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// What volumes become items of: a model, or a recipe without one.
struct VolumeKind: Sendable {
    /// The id of the model package, or the name of the recipe.
    let id: String
    /// What fingerprints begin with.
    let version: String
    let options: any RecipeOptions
    /// Whether a recipe without a model takes single slices.
    var takesSlices = false
    var model: SegmentationModel?

    /// What fingerprints contain of the model.
    var identity: [String] {
        model.map { [$0.package.digest.hex, $0.engineIdentity, $0.precision.rawValue] } ?? []
    }

    /// The volumes as this kind sees them: cases with the channels of the model; without one, each channel by itself.
    func cases(_ volumes: [FoundVolume], of finder: VolumeFinder) -> [FoundVolume] {
        guard let model else { return volumes }
        let suited =
            finder.readsTIFF ? volumes.map { $0.suited(to: model.settings.inputFormat, model: id) } : volumes
        return ChannelCases(model: model.package, takesTimeSeries: finder.options.inputs.takesTimeSeries).cases(suited)
    }

    /// Why a volume that can be read is set aside rather than refused: it is not damaged; nil for one that is taken.
    func reason(against volume: VolumeSource) -> ItemReason? {
        // A volume file states no modality, so that only DICOM series can be set aside for it.
        let wanted = model?.package.modalities ?? []
        if let modality = volume.modality, !wanted.isEmpty, !wanted.contains(modality) {
            let text: Sentence = "modality \(modality); \(own: id) takes \(wanted.joined(separator: ", "))"
            return .discovered(.notForModel, text)
        }
        let shape = volume.geometry.shape
        let isTaken = model?.takesShape(of: volume) ?? (takesSlices || min(shape.x, shape.y, shape.z) > 1)
        return isTaken ? nil : FoundVolume.singleSlice(shape)
    }
}
