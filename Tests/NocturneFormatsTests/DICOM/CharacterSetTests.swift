import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Texts are read in the character set that the object states")
struct CharacterSetTests {
    /// A value of SpecificCharacterSet, a text in it, and the same text.
    struct Example: Sendable, CustomTestStringConvertible {
        let stated: String
        let bytes: [UInt8]
        let text: String
        var testDescription: String { "\(stated): \(text)" }

        init(_ stated: String, _ bytes: [UInt8], _ text: String) {
            (self.stated, self.bytes, self.text) = (stated, bytes, text)
        }

        /// - Parameter octal: bytes as PS3.5 writes them, such as `\033`.
        init(_ stated: String, octal: String, _ text: String) {
            var bytes: [UInt8] = []
            var rest = Substring(octal)
            while let first = rest.popFirst() {
                if first == "\\", let byte = UInt8(rest.prefix(3), radix: 8) {
                    bytes.append(byte)
                    rest = rest.dropFirst(3)
                } else {
                    bytes += Array(String(first).utf8)
                }
            }
            self.init(stated, bytes, text)
        }
    }

    static let examples = [
        Example("GB18030", octal: #"\270\316\324\340, \306\242\324\340"#, "肝脏, 脾脏"),
        Example("GBK", octal: #"\270\316\324\340"#, "肝脏"),
        Example("ISO_IR 144", octal: #"\337\325\347\325\335\354"#, "печень"),
        Example("ISO_IR 101", octal: #"\243\363d\274"#, "Łódź"),
        Example("ISO_IR 166", octal: #"\265\321\272"#, "ตับ"),
        Example("ISO_IR 100", octal: #"M\374ller"#, "Müller"),
        Example("", octal: #"M\374ller"#, "Müller"),
        Example("", Array("Müller".utf8), "Müller"),
        Example("ISO_IR 192", Array("肝脏".utf8), "肝脏"),
        // Spellings that programs write.
        Example("ISO-IR 144", octal: #"\337\325\347\325\335\354"#, "печень"),
        Example("UTF-8", Array("肝脏".utf8), "肝脏"),
        // Bytes that the set does not have.
        Example("ISO_IR 192", octal: #"M\374ller"#, "M\u{FFFD}ller"),
        Example("GB18030", octal: #"\270\316\377"#, "肝\u{FFFD}"),
        // The examples of PS3.5, annexes H, I and K.
        Example(
            #"\ISO 2022 IR 87"#,
            octal: #"Yamada^Tarou=\033$B;3ED\033(B^\033$BB@O:\033(B=\033$B$d$^$@\033(B^\033$B$?$m$&\033(B"#,
            "Yamada^Tarou=山田^太郎=やまだ^たろう"
        ),
        Example(
            #"ISO 2022 IR 13\ISO 2022 IR 87"#,
            octal: #"\324\317\300\336^\300\333\263=\033$B;3ED\033(J^\033$BB@O:\033(J"#,
            "ﾔﾏﾀﾞ^ﾀﾛｳ=山田^太郎"
        ),
        Example(
            #"\ISO 2022 IR 149"#,
            octal: #"Hong^Gildong=\033$)C\373\363^\033$)C\321\316\324\327=\033$)C\310\253^\033$)C\261\346\265\277"#,
            "Hong^Gildong=洪^吉洞=홍^길동"
        ),
        Example(
            #"\ISO 2022 IR 58"#,
            octal: #"Zhang^XiaoDong=\033$)A\325\305^\033$)A\320\241\266\253="#,
            "Zhang^XiaoDong=张^小东="
        ),
    ]

    @Test("of series and of regions", arguments: examples)
    func reads(_ example: Example) throws {
        func state(_ set: inout DICOMDataSet) {
            if !example.stated.isEmpty { set.text(0x0008_0005, "CS", example.stated) }
        }
        var slice = TestSlice()
        slice.change = { set in
            state(&set)
            set.bytes(0x0008_103E, "LO", example.bytes)
        }
        var structures = DICOMDataSet()
        state(&structures)
        structures.text(0x0008_0016, "UI", "1.2.840.10008.5.1.4.1.1.481.3")
        var region = DICOMDataSet()
        region.text(0x3006_0022, "IS", "7")
        region.bytes(0x3006_0026, "LO", example.bytes)
        structures.items(0x3006_0020, [region])
        try TemporaryFolder.with { folder in
            let image = try folder.write(slice.file(), to: "image.dcm").path
            #expect(try DICOMObject.readHeader(path: image).seriesDescription == example.text)
            let bytes = DICOMDataSet.preamble("1.2.840.10008.1.2") + structures.encoded(.implicit)
            let read = try DICOMStructureSet.read(path: folder.write(bytes, to: "rs.dcm").path)
            #expect(read.regions.map(\.name) == [example.text])
        }
    }

    @Test("of patients, whose names are then found in paths")
    func patient() throws {
        // The separator of a name ends the selection of Greek: the second name selects it again.
        let name = Example(
            #"\ISO 2022 IR 126"#,
            octal: #"\033-F\304\351\357\355\365\363\351\357\362^\033-F\303\351\341\355\355\347\362"#,
            ""
        )
        var slice = TestSlice()
        slice.change = { set in
            set.text(0x0008_0005, "CS", name.stated)
            set.bytes(0x0010_0010, "PN", name.bytes)
        }
        let folder = try TemporaryFolder("dicom")
        let path = try folder.write(slice.file(), to: "Γιαννης_Διονυσιος/1.dcm").path
        #expect(try DICOMObject.readHeader(path: path).patient?.sought.found(in: path).count == 2)
    }

    @Test("of an object whose labels are in another script than its source's, which becomes UTF-8")
    func written() throws {
        let name = Example("ISO_IR 144", octal: #"\270\322\320\335\336\322"#, "Иванов")
        let source = try SourceSeries(0) { set in
            set.text(0x0008_0005, "CS", name.stated)
            set.bytes(0x0010_0010, "PN", name.bytes)
        }
        func write(_ label: String) throws -> (object: DICOMSegmentation, bytes: Data) {
            var segment = testSegments[0]
            segment.label = label
            segment.type = .uncoded(label)
            let path = source.folder("out.dcm").path
            try DICOMSegmentation.write(
                try source.labels(),
                segments: [segment],
                from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
                to: path,
                scope: .serial()
            )
            return (
                try DICOMSegmentation.read(path: path), try Data(contentsOf: URL(fileURLWithPath: path))
            )
        }
        let chinese = try write("肝脏")
        #expect(chinese.object.segments.map(\.label) == ["肝脏"])
        #expect(chinese.object.segments[0].type == .uncoded("肝脏"))
        #expect(chinese.bytes.range(of: Data("ISO_IR 192".utf8)) != nil)
        #expect(chinese.bytes.range(of: Data(name.text.utf8)) != nil)
        #expect(chinese.bytes.range(of: Data(name.bytes)) == nil)
        let plain = try write("liver")
        #expect(plain.bytes.range(of: Data("ISO_IR 144".utf8)) != nil)
        #expect(plain.bytes.range(of: Data(name.bytes)) != nil)
    }
}
