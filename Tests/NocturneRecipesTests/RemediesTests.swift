import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturneSystem
import Testing

@Suite("What can be done about an item that was not completed")
struct RemediesTests {
    private static func codes<Code: FormatErrorCode & CaseIterable>(of type: Code.Type) -> [FaultCode] {
        type.allCases.map { FaultCode(type.domain, $0.rawValue) }
    }

    private static let formats =
        codes(of: VolumeFileErrorCode.self) + codes(of: PhotoErrorCode.self) + codes(of: PictureErrorCode.self)
        + codes(of: PDFErrorCode.self) + codes(of: TIFFStackErrorCode.self) + codes(of: MeshFileErrorCode.self)

    @Test("Every code of a format, of the system and of the batch has a text for its kind")
    func everyCode() {
        let errors: [any Error] = [
            DICOMReadError(.missingSlices, path: "a", detail: "b"),
            ModelFormatError.malformed(path: "a", reason: "b"),
            MemoryBudget.RequestError.tooLarge(needed: 2, budget: 1),
            BatchError(.outputFull, path: "a", detail: "b"),
            FileSystemError(operation: "open", path: "a", code: 13),
            FileSystemError(operation: "write", path: "a", code: 28),
            FileSystemError(operation: "read", path: "a", code: 24),
        ]
        for code in Self.formats + errors.map(FaultCode.init(of:)) + [
            .unexpected, .notReached, .engineCrashed, .channels,
        ] {
            let covered = FaultCode.withRemedy.contains(code.rawValue) || FaultCode.withRemedy.contains(code.domain)
            #expect(covered, "\(code)")
            #expect(code.remedy.hasSuffix("."), "\(code)")
        }
    }

    @Test("No text is for a code of a format that does not exist")
    func noOtherCode() {
        let known = Set(Self.formats)
        let domains: Set = ["nifti", "photo", "picture", "pdf", "mesh", "tiff"]
        for name in FaultCode.withRemedy where name.contains(".") {
            let code = FaultCode(rawValue: name)
            #expect(!domains.contains(code.domain) || known.contains(code), "\(name)")
        }
    }

    @Test("What the system refused has the system's code, whatever the file's format")
    func systemErrors() {
        let full = VolumeFileError(.cannotWrite, path: "a", "b", systemCode: 28)
        #expect(FaultCode(of: full) == .diskFull)
        #expect(FaultCode(of: VolumeFileError(.truncated, path: "a", "b")).rawValue == "nifti.truncated")
        #expect(FaultCode(of: FileSystemError(operation: "open", path: "a", code: 13)) == .noPermission)
        #expect(FaultCode(of: CancelledError()) == .unexpected)
    }
}
