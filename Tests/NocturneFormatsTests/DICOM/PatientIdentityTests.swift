import Foundation
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Who the patient is, according to a header")
struct PatientIdentityTests {
    private func object(_ name: String, _ syntax: TestSlice.Syntax = .explicit, removed: String? = nil) throws
        -> (words: Set<String>, object: DICOMObject)
    {
        var slice = TestSlice()
        slice.change = { set in
            set.text(0x0010_0010, "PN", "Müller^Eva^^Dr")
            set.text(0x0010_0020, "LO", "P-0815")
            set.text(0x0010_0030, "DA", "19700131")
            if let removed { set.text(0x0012_0062, "CS", removed) }
        }
        let folder = try TemporaryFolder("dicom")
        let object = try DICOMObject.readHeader(path: folder.write(slice.file(syntax), to: name).path)
        return (object.patient?.sought.found(in: object.path) ?? [], object)
    }

    @Test("is found in the file's path", arguments: TestSlice.Syntax.allCases)
    func found(syntax: TestSlice.Syntax) throws {
        let words = try object("MUELLER_EVA_1970-01-31/P0815/Dr1.dcm", syntax).words
        #expect(words == ["mueller", "eva", "19700131", "p0815"])
    }

    @Test("is not looked for where the identity was removed")
    func removed() throws {
        #expect(try object("EVA/1.dcm", removed: "YES").words.isEmpty)
        #expect(try object("EVA/1.dcm", removed: "NO").words == ["eva"])
        let patient = try object("EVA/1.dcm", removed: "YES").object.patient
        #expect(patient?.isRemoved == true && patient?.identifier == "P-0815")
    }

    @Test("is in no description of it")
    func description() throws {
        let found = try object("EVA/1.dcm").object
        var text = "\(String(describing: found.patient)) "
        dump(found.patient, to: &text)
        for secret in ["Müller", "P-0815", "19700131"] { #expect(!text.contains(secret)) }
        #expect(found.patient != nil)
    }
}
