package import NocturneInference
import NocturneSystem

extension VolumeSegmentationSettings {
    /// Reads a section that describes networks for single planes, such as photos: the keys of `volumeSegmentation` that have
    /// a meaning without a spacing in millimetres and without a third axis.
    /// - Parameters:
    ///   - package: of any task.
    ///   - section: the key of the section in `model.json`.
    /// - Throws: an error for keys that are about volumes only.
    package init(plane package: ModelPackage, section: String) throws(ModelPackageError) {
        try package.requireLabelMap()
        self = try package.section(section) { section throws(JSONFields.Fault) in
            try section.checkPlane()
            return try VolumeSegmentationSettings(section, of: package)
        }
    }
}

extension JSONFields {
    /// Refuses what cannot be applied to a single plane.
    fileprivate func checkPlane() throws(Fault) {
        let reasons = [
            "previousStage": "photos have no cascades",
            "orientation": "photos are turned upright by their own headers",
            "spacing": "photos have no spacing",
            "normalizeAfterResampling": "photos are not resampled",
            "marginMm": "photos have no spacing",
            "padMargin": "the margin of a photo ends at its border",
            "inputFormat": "photos are recognised by their content",
            "window": "photos are shown as they are",
        ]
        for (key, reason) in reasons.sorted(by: { $0.key < $1.key }) where has(key) {
            throw fault(key, "is for volumes only: \(reason)")
        }
        if has("resampling"), !has("size") { throw fault("resampling", "is given without size") }
        let patch = try wholes("patchSize")
        guard patch.count == 2 else {
            throw fault("patchSize", is: patch, not: "two numbers, rows and columns of a tile")
        }
        if has("transpose"), try wholes("transpose").first != 0 {
            throw fault("transpose", is: try wholes("transpose"), not: "0, 1, 2 or 0, 2, 1")
        }
        let postprocessing = try objectOrEmpty("postprocessing")
        for key in ["minimumVolumeMm3", "morphology"] where postprocessing.has(key) {
            throw postprocessing.fault(key, "is for volumes only: its sizes are in mm, and photos have no spacing")
        }
    }
}
