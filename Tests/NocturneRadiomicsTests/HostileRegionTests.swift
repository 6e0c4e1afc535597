import NocturneConcurrency
import NocturneCore
import NocturneRadiomics
import NocturneTestSupport
import Testing

@Suite("Hostile regions")
struct HostileRegionTests {
    private func values(
        _ shape: VolumeShape,
        _ mask: [UInt8],
        intensities: [Float]? = nil,
        settings: RadiomicsSettings = DigitalPhantom.settings
    ) throws -> [String: FeatureValue] {
        let image = intensities ?? (0..<shape.count).map { Float(1 + $0 * 7 % 5) }
        let region = try #require(
            RadiomicsRegion(shape: shape, spacing: SIMD3(1, 1, 2), intensities: image, mask: mask)
        )
        let values = try Radiomics.values(of: region, settings: settings, scope: .serial())
        // Either a finite value or a reason.
        #expect(values.allSatisfy { ($0.value == nil) != ($0.absence == nil) && $0.value?.isFinite ?? true })
        return Dictionary(uniqueKeysWithValues: values.map { ($0.name, $0) })
    }

    @Test("a single voxel has a volume, but no axes, pairs or neighbours")
    func singleVoxel() throws {
        let found = try values(VolumeShape(x: 1, y: 1, z: 1), [1])
        #expect(found["morph_vol_approx"]?.value == 2)
        #expect(found["stat_mean"]?.value == 1)
        #expect(found["rlm_sre_3D_avg"]?.value == 1)
        for name in ["morph_pca_maj_axis", "morph_moran_i", "cm_contrast_3D_avg", "ngt_contrast_3D"] {
            #expect(found[name]?.absence == .undefined, "\(name)")
        }
    }

    @Test("a line of voxels has a length, but no flatness and no pairs across")
    func line() throws {
        let found = try values(VolumeShape(x: 7, y: 3, z: 3), (0..<63).map { $0 / 7 == 4 ? 1 : 0 })
        #expect(found["morph_pca_least_axis"]?.value == 0)
        #expect(found["morph_vol_dens_aee"]?.absence == .undefined)
        #expect(found["cm_contrast_3D_avg"]?.value != nil)
        #expect(found["rlm_r_perc_3D_comb"]?.value != nil)
    }

    @Test("a region that fills the image has the distance 1 to the border")
    func wholeImage() throws {
        let found = try values(VolumeShape(x: 2, y: 2, z: 2), [UInt8](repeating: 1, count: 8))
        #expect(found["dzm_lde_3D"]?.value == 1)
        #expect(found["morph_vol_approx"]?.value == 16)
    }

    @Test("holes and separate parts have all values")
    func holesAndParts() throws {
        let shape = VolumeShape(x: 12, y: 6, z: 6)
        var mask = [UInt8](repeating: 0, count: shape.count)
        for k in 0..<6 {
            for j in 0..<6 {
                for i in 0..<5 { mask[shape.offset(i, j, k)] = 1 }
                mask[shape.offset(11, j, k)] = 1
            }
        }
        mask[shape.offset(2, 3, 3)] = 0
        let found = try values(shape, mask)
        #expect(found.values.allSatisfy { $0.value != nil })
        #expect(found["morph_vol_approx"]?.value == Double(5 * 36 - 1 + 36) * 2)
    }

    @Test("equal intensities have no spread and no correlation")
    func flat() throws {
        let shape = VolumeShape(x: 4, y: 4, z: 4)
        let ones = [UInt8](repeating: 1, count: 64)
        let found = try values(shape, ones, intensities: [Float](repeating: 3, count: 64))
        #expect(found["stat_skew"]?.value == 0)
        #expect(found["morph_moran_i"]?.absence == .undefined)
        #expect(found["cm_corr_3D_avg"]?.absence == .undefined)
        #expect(found["ngt_coarseness_3D"]?.value == 1_000_000)
    }

    @Test("an intensity that is not a number leaves the shape")
    func notANumber() throws {
        let shape = VolumeShape(x: 4, y: 4, z: 4)
        var image = [Float](repeating: 2, count: 64)
        image[21] = .nan
        let found = try values(shape, [UInt8](repeating: 1, count: 64), intensities: image)
        #expect(found["morph_volume"]?.value != nil)
        #expect(found["stat_mean"]?.absence == .notFinite)
        #expect(found["cm_contrast_3D_avg"]?.absence == .notFinite)
    }

    @Test("an intensity outside the region that is not a number changes nothing but means around the region")
    func notANumberOutside() throws {
        let shape = VolumeShape(x: 4, y: 4, z: 4)
        let mask = (0..<64).map { UInt8($0 / 16 == 1 ? 1 : 0) }
        var image = (0..<64).map { Float(1 + $0 % 3) }
        let before = try values(shape, mask, intensities: image)
        image[0] = .nan
        let after = try values(shape, mask, intensities: image)
        for (name, value) in before where !name.hasPrefix("loc_") { #expect(after[name] == value) }
        #expect(after["loc_peak_glob"]?.value != nil)
    }

    @Test("levels that are not integers, and too many of them, are named")
    func levels() throws {
        let shape = VolumeShape(x: 4, y: 4, z: 4)
        let ones = [UInt8](repeating: 1, count: 64)
        let halves = try values(shape, ones, intensities: (0..<64).map { Float($0) / 2 })
        #expect(halves["cm_contrast_3D_avg"]?.absence == .notIntegers)
        #expect(halves["stat_mean"]?.value != nil)
        let zero = try values(shape, ones, intensities: (0..<64).map { Float($0 % 3) })
        #expect(zero["ngl_lgce_3D"]?.absence == .notIntegers)
        let huge = try values(shape, ones, intensities: [Float](repeating: 3e38, count: 64))
        #expect(huge["szm_sze_3D"]?.absence == .tooManyLevels)
        let far = try values(shape, ones, intensities: (0..<64).map { Float(1 + $0 * 1000) })
        #expect(far["szm_sze_3D"]?.absence == .tooManyLevels)
        #expect(far["stat_mean"]?.value != nil)
    }

    @Test("a mask without voxels is no region")
    func empty() {
        let shape = VolumeShape(x: 2, y: 2, z: 2)
        let zeros = [Float](repeating: 0, count: 8)
        #expect(
            RadiomicsRegion(shape: shape, spacing: SIMD3(1, 1, 1), intensities: zeros, mask: zeros.map { _ in 0 })
                == nil
        )
    }
}
