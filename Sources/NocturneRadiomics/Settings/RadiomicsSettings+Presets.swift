extension RadiomicsSettings {
    /// The settings that a name stands for, in the order of help: the files of the folder `Presets`, which are settings files
    /// like those of users. None of them names another preset.
    public static let presets: [(name: String, settings: RadiomicsSettings)] = [
        // The configurations of the standard's CT phantom (section 5). A has slices as they are.
        ("ibsi-a", PackageResources.ibsi_a_json),
        // Slices of 2 mm pixels. B interpolates within slices only: 0 keeps their distance.
        ("ibsi-b", PackageResources.ibsi_b_json),
        // Voxels of 2 mm.
        ("ibsi-c", PackageResources.ibsi_c_json),
        // As C, without outliers.
        ("ibsi-d", PackageResources.ibsi_d_json),
        // By cubic interpolation, within a range and without outliers.
        ("ibsi-e", PackageResources.ibsi_e_json),
        // CT: voxels of 2 mm, bins of 25 HU from -1000 HU.
        ("ct", PackageResources.ct_json),
        // PET in SUV: voxels of 4 mm, bins of 0.25 from 0, the lower bound of re-segmentation: SUV have no negative values.
        ("pet", PackageResources.pet_json),
        // Intensities without a unit, as those of MR: voxels of 2 mm, 32 bins, without outliers.
        ("mr", PackageResources.mr_json),
        // The image types, steps, neighbours and families of pyradiomics 3 without a parameter file. Its values of some
        // features follow other definitions than the standard's.
        ("pyradiomics", PackageResources.pyradiomics_json),
    ].map { name, file in
        do {
            return (name, try RadiomicsSettings(parsing: file))
        } catch {
            preconditionFailure("the preset \(name): \(error)")
        }
    }

    /// The settings of a preset; nil for another name.
    public static func preset(_ name: String) -> RadiomicsSettings? { presets.first { $0.name == name }?.settings }
}
