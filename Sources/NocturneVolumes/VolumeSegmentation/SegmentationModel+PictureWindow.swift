import NocturneCore
import NocturneInference
import NocturnePictures

extension SegmentationModel {
    /// The window of pictures if the image gives none: the package's window; else, unless the model is for CT alone, the bounds
    /// that the network sees, which also form a window. The other normalization schemes have no bounds.
    var pictureWindow: PictureWindow? {
        if let window = settings.window { return window }
        let channels = parts[0].members[0].member.package.channels
        if package.modalities != ["CT"], case .ct(let lower, let upper, _, _) = channels[0].normalizations[0] {
            return .fixed(lower: lower, upper: upper)
        }
        return nil
    }
}
