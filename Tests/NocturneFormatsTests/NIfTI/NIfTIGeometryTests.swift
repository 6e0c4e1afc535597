import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The place of NIfTI volumes in the patient")
struct NIfTIGeometryTests {
    private func header(_ file: HandmadeNIfTI, assumesOrientation: Bool = false) throws -> VolumeFileHeader {
        try TemporaryFolder.with { folder in
            let bytes = file.file([Double](repeating: 0, count: file.voxelCount))
            return try VolumeFileReader.readHeader(
                at: folder.write(bytes, to: "a.nii").path,
                assumesOrientation: assumesOrientation
            )
        }
    }

    private func close(_ a: Affine, _ b: Affine, _ tolerance: Double) -> Bool {
        zip(a.rows.joined(), b.rows.joined()).allSatisfy { abs($0 - $1) <= tolerance }
    }

    @Test("Without forms a file is refused, or read as nibabel does", arguments: VolumeFileHeader.NIfTIVersion.allCases)
    func noForms(version: VolumeFileHeader.NIfTIVersion) throws {
        var file = HandmadeNIfTI(version: version)
        (file.qformCode, file.sformCode) = (0, 0)
        let fault = niftiFault { _ = try header(file) }
        #expect(fault?.code == .missingOrientation)
        #expect(fault?.detail.contains("does not state the patient orientation") == true)
        let assumed = try header(file, assumesOrientation: true)
        // As nibabel 5.4.2 computes it for 5×4×3 voxels.
        let expected = Affine(rows: [[-0.5, 0, 0, 1], [0, 0.75, 0, -1.125], [0, 0, 2, -2]])
        #expect(assumed.geometry.affine == expected)
        #expect(assumed.hasAssumedOrientation && assumed.notes.count == 1)
        #expect(assumed.qform == nil && assumed.sform == nil)
        (file.qformCode, file.sformCode) = (1, 0)
        #expect(try header(file, assumesOrientation: true).geometry == header(file).geometry)
    }

    @Test(
        "A sheared grid, and one with another q-form, keep the q-form of their image, by which ITK reads both",
        arguments: [
            [[-0.5, 0, 0, 10], [0, 0.75, 0.8, 20], [0, 0, 2, 30]],
            [[-0.5, 0, 0, 10], [0, 0.75, 0, 20], [0, 0, 2, 30]],
        ]
    )
    func keepsQform(sform: [[Double]]) throws {
        try TemporaryFolder.with { folder in
            var file = HandmadeNIfTI()
            file.quaternion = [0.1, -0.2, 0.3]
            file.quaternionOffset = [4, -5, 6]
            file.sform = sform
            (file.qformCode, file.sformCode) = (1, 2)
            let source = try header(file)
            let labels = LabelVolume(
                geometry: source.geometry,
                voxels: try FrozenVoxels([UInt16](repeating: 0, count: source.shape.count))
            )
            let path = folder("a.nii").path
            try NIfTIWriter.writeLabels(labels, names: [], forms: NIfTIForms(of: source), to: path, scope: .serial())
            let read = try VolumeFileReader.readHeader(at: path)
            #expect((read.qformCode, read.sformCode) == (1, 2))
            #expect(read.pixelSpacing == source.pixelSpacing)
            #expect(close(read.geometry.affine, source.geometry.affine, 1e-6))
            let (old, new) = (try #require(source.qform), try #require(read.qform))
            #expect(close(new, old, 1e-6))
        }
    }

    @Test("The s-form is taken first, then the q-form")
    func choice() throws {
        var file = HandmadeNIfTI()
        file.pixelDimensions = [-1, 0.5, -0.75, 2]
        file.quaternion = [0, 0, 1]
        file.quaternionOffset = [1, 2, 3]
        file.sform = [[0, 0, 2, 1], [0.5, 0, 0, 2], [0, 0.75, 0, 3]]
        (file.qformCode, file.sformCode) = (1, 1)
        let both = try header(file)
        #expect(both.geometry.affine == Affine(rows: file.sform))
        #expect(both.formsDisagree)
        // A half turn about z, the third axis mirrored: (-x, -y, -z).
        let turned = Affine(rows: [[-0.5, 0, 0, 1], [0, -0.75, 0, 2], [0, 0, -2, 3]])
        #expect(both.qform.map { close($0, turned, 1e-12) } == true)
        #expect(both.sform == Affine(rows: file.sform))
        file.sformCode = 0
        let quaternion = try header(file)
        #expect(close(quaternion.geometry.affine, turned, 1e-12))
        #expect(quaternion.sform == nil && !quaternion.formsDisagree)
    }

    @Test(
        "A pixdim that is not the voxel size of the affine is noted",
        arguments: [(2.0, false), (2.001, false), (2.2, true)]
    )
    func spacings(third: Double, isNoted: Bool) throws {
        var file = HandmadeNIfTI()
        file.pixelDimensions = [1, 0.5, 0.75, third]
        file.sform = [[0, 0, 2, 1], [0.5, 0, 0, 2], [0, 0.75, 0, 3]]
        (file.qformCode, file.sformCode) = (0, 1)
        let notes = try header(file).notes
        #expect(notes.map(\.code) == (isNoted ? ["nifti.spacingsDisagree"] : []))
        let sizes = "pixdim states voxels of 0.5×0.75×2.2 mm, the affine of 0.5×0.75×2.0 mm"
        #expect(notes.texts.allSatisfy { $0.hasPrefix(sizes) })
    }

    @Test(
        "A quaternion longer than 1 beyond rounding is noted where the q-form is used, and divided by its length",
        arguments: [(1.000001, 0, false), (1.1, 0, true), (1.1, 1, false)]
    )
    func longQuaternion(d: Double, sformCode: Int, isNoted: Bool) throws {
        var file = HandmadeNIfTI()
        file.quaternion = [0, 0, d]
        (file.qformCode, file.sformCode) = (1, sformCode)
        let read = try header(file)
        let notes = read.notes.filter { $0.code == "nifti.longQuaternion" }
        #expect(notes.count == (isNoted ? 1 : 0))
        #expect(notes.texts.allSatisfy { $0.hasPrefix("b²+c²+d² of the q-form's quaternion is 1.21, not at most 1") })
        let turned = Affine(rows: [[-0.5, 0, 0, 0], [0, -0.75, 0, 0], [0, 0, 2, 0]])
        #expect(read.qform.map { close($0, turned, 1e-12) } == true)
    }

    @Test("Metres and micrometres become millimetres", arguments: [(1, 1000.0), (2, 1), (3, 0.001), (0, 1), (10, 1)])
    func units(code: Int, factor: Double) throws {
        for version in VolumeFileHeader.NIfTIVersion.allCases {
            var file = HandmadeNIfTI(version: version)
            file.units = code
            let sform = try header(file).geometry.affine
            let expected = Affine(rows: file.sform.map { $0.map { $0 * factor } })
            #expect(close(sform, expected, 1e-12 * factor))
            (file.qformCode, file.sformCode) = (1, 0)
            file.quaternionOffset = [4, 5, 6]
            let qform = try header(file).geometry
            #expect(
                close(
                    qform.affine,
                    Affine(rows: [
                        [0.5 * factor, 0, 0, 4 * factor], [0, 0.75 * factor, 0, 5 * factor],
                        [0, 0, 2 * factor, 6 * factor],
                    ]),
                    1e-12 * factor
                )
            )
        }
    }

    /// Rotations about three axes, with every half and quarter turn among them.
    static let rotations: [Affine] = {
        var all: [Affine] = []
        let angles = [0, 0.3, .pi / 2, 2, .pi, -.pi / 2, -3.1]
        for a in angles {
            for b in angles {
                for c in angles {
                    func turn(_ angle: Double, _ u: Int, _ v: Int) -> Affine {
                        var rows = (0..<3).map { r in (0..<4).map { $0 == r ? 1.0 : 0.0 } }
                        (rows[u][u], rows[u][v], rows[v][u], rows[v][v]) = (
                            cos(angle), -sin(angle), sin(angle), cos(angle)
                        )
                        return Affine(rows: rows)
                    }
                    all.append(turn(a, 0, 1).composed(with: turn(b, 1, 2)).composed(with: turn(c, 2, 0)))
                }
            }
        }
        return all
    }()

    @Test("Rotations, mirrors and spacings survive a q-form alone")
    func quaternionRoundTrip() throws {
        try TemporaryFolder.with { folder in
            let shape = VolumeShape(x: 2, y: 3, z: 4)
            let labels = try FrozenVoxels([UInt16](repeating: 1, count: shape.count))
            let path = folder("a.nii").path
            for rotation in Self.rotations {
                for mirror in [1.0, -1.0] {
                    var affine = rotation.composed(with: .scaling(SIMD3(0.7, 1.3, 2.5 * mirror)))
                    affine.translation = SIMD3(-120.5, 33.25, 700)
                    let geometry = VolumeGeometry(shape: shape, affine: affine)
                    try NIfTIWriter.writeLabels(
                        LabelVolume(geometry: geometry, voxels: labels),
                        names: [],
                        forms: NIfTIForms(qformCode: 1, sformCode: 0),
                        to: path,
                        scope: .serial()
                    )
                    let read = try VolumeFileReader.readHeader(at: path)
                    #expect((read.qformCode, read.sformCode) == (1, 0))
                    // Near half turns the three float32 parts hardly tell the fourth: that is NIfTI's precision.
                    #expect(read.geometry.matches(geometry, tolerance: 0.007))
                }
            }
        }
    }

    @Test("A q-form that float32 cannot hold well enough gives its code to the s-form")
    func quaternionPrecision() throws {
        try TemporaryFolder.with { folder in
            // 0.0005 from a half turn: the q-form would be off by half a millimetre at the far corners.
            let angle = Double.pi - 0.0005
            let (c, s) = (cos(angle), sin(angle))
            let affine = Affine(rows: [[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0]])
            let shape = VolumeShape(x: 1000, y: 1000, z: 2)
            let labels = LabelVolume(
                geometry: VolumeGeometry(shape: shape, affine: affine),
                voxels: try FrozenVoxels([UInt16](repeating: 0, count: shape.count))
            )
            let path = folder("a.nii.gz").path
            try NIfTIWriter.writeLabels(
                labels,
                names: [],
                forms: NIfTIForms(qformCode: 1, sformCode: 0),
                to: path,
                scope: .serial()
            )
            let read = try VolumeFileReader.readHeader(at: path)
            #expect((read.qformCode, read.sformCode) == (0, 1))
            #expect(read.geometry.matches(labels.geometry, tolerance: 1e-3))
        }
    }

    @Test("A sheared grid has no q-form and keeps its s-form", arguments: [(1, 0), (1, 2), (0, 0)])
    func shear(qform: Int, sform: Int) throws {
        try TemporaryFolder.with { folder in
            let shape = VolumeShape(x: 10, y: 20, z: 30)
            let affine = Affine(rows: [[-0.5, 0, 0, 10], [0, 0.5, 0.8, 20], [0, 0, 2.4, 30]])
            let labels = LabelVolume(
                geometry: VolumeGeometry(shape: shape, affine: affine),
                voxels: try FrozenVoxels([UInt16](repeating: 0, count: shape.count))
            )
            let path = folder("a.nii.gz").path
            try NIfTIWriter.writeLabels(
                labels,
                names: [],
                forms: NIfTIForms(qformCode: qform, sformCode: sform),
                to: path,
                scope: .serial()
            )
            let read = try VolumeFileReader.readHeader(at: path)
            #expect(read.qformCode == 0)
            #expect(read.sformCode == max(sform, 1))
            #expect(close(read.geometry.affine, affine, 1e-6))
        }
    }
}
