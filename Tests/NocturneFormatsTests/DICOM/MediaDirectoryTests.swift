import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A DICOMDIR is followed, inside its folder only")
struct MediaDirectoryTests {
    /// A directory whose records name `references`.
    private func directory(_ references: [String]) -> [UInt8] {
        var items: [UInt8] = []
        for reference in references {
            var record = DICOMDataSet()
            record.text(0x0004_1430, "CS", "IMAGE")
            record.text(0x0004_1500, "CS", reference)
            let bytes = record.encoded(.explicit)
            items += [0xFE, 0xFF, 0x00, 0xE0] + littleEndian(UInt32(bytes.count)) + bytes
        }
        var set = DICOMDataSet()
        set.bytes(0x0004_1220, "SQ", items)
        let group =
            DICOMDataSet.element(0x0002_0002, "UI", Array("1.2.840.10008.1.3.10".utf8), .explicit)
            + DICOMDataSet.element(0x0002_0010, "UI", Array("1.2.840.10008.1.2.1".utf8), .explicit)
        let length = DICOMDataSet.element(0x0002_0000, "UL", littleEndian(UInt32(group.count)), .explicit)
        return [UInt8](repeating: 0, count: 128) + Array("DICM".utf8) + length + group + set.encoded(.explicit)
    }

    @Test("files it names are found, in lower case too, and each once")
    func follows() throws {
        try TemporaryFolder.with("dicom") { folder in
            let slices = TestSlice.stack(4)
            for (k, slice) in slices.enumerated() {
                _ = try folder.write(slice.file(), to: k < 2 ? "CT1/\(k)" : "ct2/\(k)")
            }
            let path = try folder.write(
                directory(["CT1\\0", "CT1\\1", "CT2\\2", "CT2\\3", "CT1\\0", "CT3\\9"]),
                to: "DICOMDIR"
            ).path
            let directory = try MediaDirectory(path: path)
            #expect(directory.code == .listedFilesMissing)
            #expect(directory.files == ["CT1/0", "CT1/1", "ct2/2", "ct2/3"].map { folder($0).path })
            #expect(
                directory.description(added: 4)
                    == "a DICOMDIR, which only lists other files: 4 of those were found (4 only through it), 1 missing"
            )
            let flag = CancellationFlag()
            flag.cancel()
            #expect(try MediaDirectory(path: path, flag: flag).files.isEmpty)
            let scan = try DICOMScanner.scan(paths: [path] + directory.files, scope: .serial())
            #expect(scan.series.map(\.slices.count) == [4] && scan.series[0].problem == nil)
            #expect(scan.rejectedFiles.map(\.reason.code) == [.mediaDirectory])
        }
    }

    @Test(
        "names that lead out are not followed",
        arguments: [
            "..\\OUTSIDE", "..", "CT1\\..\\..\\OUTSIDE", "/etc/passwd", "../OUTSIDE", "CT1/../../OUTSIDE", "\\OUTSIDE",
            "",
            ".\\OUTSIDE", "LINK", "FOLDER\\OUTSIDE", String(repeating: "A\\", count: 40) + "B",
        ]
    )
    func outside(reference: String) throws {
        try TemporaryFolder.with("dicom") { folder in
            _ = try folder.write(TestSlice().file(), to: "OUTSIDE")
            let path = try folder.write(directory([reference]), to: "MEDIUM/DICOMDIR").path
            let manager = FileManager.default
            try manager.createSymbolicLink(
                atPath: folder("MEDIUM/LINK").path,
                withDestinationPath: folder("OUTSIDE").path
            )
            try manager.createSymbolicLink(atPath: folder("MEDIUM/FOLDER").path, withDestinationPath: folder("").path)
            let directory = try MediaDirectory(path: path)
            #expect(directory.files.isEmpty)
            if reference == "LINK" { #expect(directory.code == .mediaDirectory) }
            let words = directory.description(added: 0)
            if !reference.isEmpty { #expect(words.contains("ignored: 1 reference outside its folder"), "\(words)") }
        }
    }

    @Test("broken and cut directories are set aside, wherever they are cut")
    func broken() throws {
        let whole = directory(["CT1\\0", "CT1\\1"])
        try TemporaryFolder.with("dicom") { folder in
            for count in stride(from: 140, to: whole.count, by: 7) {
                let path = try folder.write(Array(whole.prefix(count)), to: "DICOMDIR").path
                let scan = try DICOMScanner.scan(paths: [path], scope: .serial())
                #expect(scan.series.isEmpty && scan.rejectedFiles.count == 1)
                _ = try? MediaDirectory(path: path)
            }
        }
    }

    @Test("real directories name what lies beside them")
    func real() throws {
        guard let files = sharedFiles("pydicom-dicomdir", deep: true) else { return }
        let plain = try DICOMScanner.scan(paths: files, scope: .serial())
        for name in ["DICOMDIR", "DICOMDIR-bigEnd", "DICOMDIR-implicit", "DICOMDIR-reordered", "DICOMDIR-nooffset"] {
            let directory = try #require(files.first { $0.hasSuffix("/" + name) })
            let listed = try MediaDirectory(path: directory).files
            let scan = try DICOMScanner.scan(paths: listed, scope: .serial())
            #expect(scan.series.map(\.files) == plain.series.map(\.files), "\(name)")
        }
    }
}
