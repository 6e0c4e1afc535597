package import NocturneInference

extension VolumeSegmentationSettings {
    /// Reads a section that describes networks for single planes, such as photos: the keys of `volumeSegmentation` that have
    /// a meaning without a spacing in millimetres and without a third axis.
    /// - Parameters:
    ///   - package: of any task.
    ///   - section: the key of the section in `model.json`.
    /// - Throws: an error for keys that are about volumes only.
    package init(plane package: ModelPackage, section: String) throws(ModelPackageError) {
        let validation = package.validation
        try validation.checkLabelMaps(package)
        let raw = try package.section(section, as: VolumeSegmentationSection.self)
        try validation.checkPlane(raw, section: section)
        self = try validation.volumeSegmentation(raw, of: package, section: section)
    }
}

extension ModelValidation {
    /// Refuses what cannot be applied to a single plane.
    fileprivate func checkPlane(_ raw: VolumeSegmentationSection, section: String) throws(ModelPackageError) {
        func refused(_ key: String, _ reason: String) -> ModelPackageError {
            refuse("\(section).\(key)", expected: "no such key: \(reason)", found: key)
        }
        let level = raw.level
        if raw.previousStage != nil { throw refused("previousStage", "photos have no cascades") }
        if level.orientation != nil { throw refused("orientation", "photos are turned upright by their own headers") }
        if level.spacing != nil { throw refused("spacing", "photos have no spacing") }
        if level.resampling != nil, level.size == nil {
            throw refused("resampling", "photos are not resampled without size")
        }
        if level.normalizeAfterResampling != nil {
            throw refused("normalizeAfterResampling", "photos are not resampled")
        }
        if level.marginMm != nil { throw refused("marginMm", "photos have no spacing") }
        if level.padMargin != nil { throw refused("padMargin", "the margin of a photo ends at its border") }
        if raw.inputFormat != nil { throw refused("inputFormat", "photos are recognised by their content") }
        if raw.window != nil { throw refused("window", "photos are shown as they are") }
        if level.normalizations != nil || level.oneHotLabels != nil {
            throw refused(level.normalizations == nil ? "oneHotLabels" : "normalizations", "photos have no cascades")
        }
        let patch = level.patchSize.map(\.value)
        guard patch.count == 2 else {
            throw refuse("\(section).patchSize", expected: "two numbers, rows and columns of a tile", found: patch)
        }
        if let transpose = level.transpose?.map(\.value), transpose.first != 0 {
            throw refuse("\(section).transpose", expected: "0, 1, 2 or 0, 2, 1", found: transpose)
        }
        if raw.postprocessing?.minimumVolumeMm3 != nil {
            throw refused("postprocessing.minimumVolumeMm3", "photos have no spacing")
        }
        if raw.postprocessing?.morphology != nil {
            throw refused("postprocessing.morphology", "its sizes are in mm, and photos have no spacing")
        }
    }
}
