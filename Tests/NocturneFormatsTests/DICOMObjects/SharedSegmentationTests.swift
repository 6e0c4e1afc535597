import Foundation
import NocturneCore
import NocturneFormats
import NocturneTestSupport
import Testing

/// Against what dcmqi, pydicom and the references say of public files; without the shared data nothing is checked.
@Suite("Real segmentations and structure sets are read")
struct SharedSegmentationTests {
    static let segmentations: [(file: String, slices: Int, volumes: Int, counts: [Int])] = [
        ("seg-dcmqi/liver.dcm", 3, 1, [107_098]),
        ("seg-dcmqi/partial_overlaps.dcm", 3, 3, [9602, 11888, 10743, 6693, 4713]),
        ("seg-dcmqi/sparse-labelmap-noppv.dcm", 3, 1, [0, 630]),
        ("seg-dcmqi/sparse-labelmap-ppv5.dcm", 3, 1, [0, 630]),
        ("seg-dcmqi/23x38x3/seg/label.seg", 3, 1, [322]),
        ("seg-dcmqi/24x38x3/seg/label.seg", 3, 1, [315]),
    ]

    @Test("voxels of each segment", arguments: segmentations.indices)
    func counts(index: Int) throws {
        let expected = Self.segmentations[index]
        guard let url = SharedData.url(expected.file) else { return }
        let read = try DICOMSegmentation.read(path: url.path)
        #expect(read.geometry.shape.z == expected.slices)
        #expect(read.masks.count == expected.volumes)
        #expect(read.segments.map(\.voxelCount) == expected.counts)
    }

    @Test(
        "one segmentation in many transfer syntaxes",
        arguments: [
            ("liver_nonbyte_aligned", ["", "_deflate", "_j2k", "_rle"]),
            ("liver", ["", "_deflate", "_expb", "_j2k", "_rle"]),
        ]
    )
    func syntaxes(name: String, endings: [String]) throws {
        var first: [UInt16]?
        for ending in endings {
            guard let url = SharedData.url("pydicom-small/\(name)\(ending).dcm") else { return }
            let read = try DICOMSegmentation.read(path: url.path)
            let voxels = read.masks[0].voxels.withUnsafeBufferPointer { Array($0) }
            #expect(voxels == first ?? voxels, "\(ending)")
            #expect(voxels.contains(1))
            first = voxels
        }
    }

    static let structures: [(file: String, regions: [(name: String, contours: Int)], images: Int)] = [
        ("rtstruct/sts002/CT/RS.dcm", [("GTV_Mass_CT", 16)], 267),
        ("rtstruct/sts002/MR_T1/RS.dcm", [("GTV_Mass_MR_T1", 16)], 35),
        ("rtstruct/sts002/PET/RS.dcm", [("GTV_Mass_PET", 16)], 267),
        ("rtstruct/without-images/dummy_rt.dcm", [("ROI-1", 3), ("ROI-2", 3), ("ROI-3", 3), ("ROI-4", 3)], 5),
    ]

    @Test("regions, contours and the images they refer to", arguments: structures.indices)
    func regions(index: Int) throws {
        let expected = Self.structures[index]
        guard let url = SharedData.url(expected.file) else { return }
        let read = try DICOMStructureSet.read(path: url.path)
        #expect(read.regions.map(\.name) == expected.regions.map(\.name))
        #expect(read.regions.map(\.contours.count) == expected.regions.map(\.contours))
        #expect(Set(read.listedImages).union(read.images).count == expected.images)
        #expect(read.regions.allSatisfy { $0.color != nil })
    }
}
