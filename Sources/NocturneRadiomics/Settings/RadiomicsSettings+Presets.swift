extension RadiomicsSettings {
    /// The settings that a name stands for, in the order of help.
    public static let presets: [(name: String, settings: RadiomicsSettings)] = [
        ("ibsi-a", .standardA), ("ibsi-b", .standardB), ("ibsi-c", .standardC), ("ibsi-d", .standardD),
        ("ibsi-e", .standardE), ("ct", .computedTomography), ("pet", .positronEmission), ("mr", .arbitraryUnits),
        ("pyradiomics", .pyradiomics),
    ]

    /// The settings of a preset; nil for another name.
    public static func preset(_ name: String) -> RadiomicsSettings? { presets.first { $0.name == name }?.settings }

    /// Configuration A of the standard's CT phantom (section 5): slices as they are.
    private static var standardA: RadiomicsSettings {
        var settings = RadiomicsSettings()
        settings.resegmentation = Resegmentation(lower: -500, upper: 400)
        settings.discretisation = Discretisation(method: .fixedBinSize, binWidth: 25)
        settings.texture.aggregations = [.slicesAveraged, .slicesMerged, .stackAveraged, .stackMerged]
        return settings
    }

    /// Configuration B: slices of 2 mm pixels.
    private static var standardB: RadiomicsSettings {
        var settings = standardA
        // 0 keeps the distance of the slices: B interpolates within slices only.
        settings.interpolation.spacing = SIMD3(2, 2, 0)
        settings.interpolation.roundsIntensities = true
        settings.discretisation = Discretisation(method: .fixedBinNumber, binCount: 32)
        return settings
    }

    /// Configuration C: voxels of 2 mm.
    private static var standardC: RadiomicsSettings {
        var settings = RadiomicsSettings()
        settings.interpolation.spacing = SIMD3(2, 2, 2)
        settings.interpolation.roundsIntensities = true
        settings.resegmentation = Resegmentation(lower: -1000, upper: 400)
        settings.discretisation = Discretisation(method: .fixedBinSize, binWidth: 25)
        settings.volumeHistogramDiscretisation = Discretisation(method: .fixedBinSize, binWidth: 2.5)
        return settings
    }

    /// Configuration D: as C, without outliers.
    private static var standardD: RadiomicsSettings {
        var settings = standardC
        settings.resegmentation = Resegmentation(outlierSigmas: 3)
        settings.discretisation = Discretisation(method: .fixedBinNumber, binCount: 32)
        settings.volumeHistogramDiscretisation = Discretisation(method: .identity)
        return settings
    }

    /// Configuration E: by cubic interpolation, within a range and without outliers.
    private static var standardE: RadiomicsSettings {
        var settings = standardD
        settings.interpolation.image = .cubic
        settings.resegmentation = Resegmentation(lower: -1000, upper: 400, outlierSigmas: 3)
        settings.volumeHistogramDiscretisation = Discretisation(method: .fixedBinNumber, binCount: 1000)
        return settings
    }

    /// CT: voxels of 2 mm, bins of 25 HU from -1000 HU.
    private static var computedTomography: RadiomicsSettings {
        var settings = standardC
        settings.resegmentation = Resegmentation(lower: -1000)
        settings.volumeHistogramDiscretisation = Discretisation(method: .identity)
        return settings
    }

    /// PET in SUV: voxels of 4 mm, bins of 0.25 from 0.
    private static var positronEmission: RadiomicsSettings {
        var settings = RadiomicsSettings()
        settings.interpolation.spacing = SIMD3(4, 4, 4)
        settings.resegmentation = Resegmentation(lower: 0)
        // From 0, the lower bound of the re-segmentation: SUV have no negative values.
        settings.discretisation = Discretisation(method: .fixedBinSize, binWidth: 0.25)
        settings.volumeHistogramDiscretisation = Discretisation(method: .fixedBinSize, binWidth: 0.1)
        return settings
    }

    /// Intensities without a unit, as those of MR: voxels of 2 mm, 32 bins, without outliers.
    private static var arbitraryUnits: RadiomicsSettings {
        var settings = RadiomicsSettings()
        settings.interpolation.spacing = SIMD3(2, 2, 2)
        settings.resegmentation = Resegmentation(outlierSigmas: 3)
        settings.volumeHistogramDiscretisation = Discretisation(method: .fixedBinNumber, binCount: 1000)
        return settings
    }

    /// The image types, steps, neighbours and families of pyradiomics 3 without a parameter file. Its values of some
    /// features follow other definitions than the standard's.
    private static var pyradiomics: RadiomicsSettings {
        var settings = RadiomicsSettings()
        settings.discretisation = Discretisation(method: .fixedBinSize, binWidth: 25, origin: .multiple)
        settings.texture.aggregations = [.volumeAveraged]
        settings.families = [.morphology, .statistics, .glcm, .glrlm, .glszm, .ngtdm, .ngldm]
        return settings
    }
}
