import Foundation
import NocturneBatch
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Clinical metadata")
struct ClinicalMetadataTests {
    static let sites = BodySites(["anterior torso", "head/neck", "unknown"])

    private func table(_ text: String) throws -> MetadataTable {
        try MetadataTable(bytes: Array(text.utf8), path: "/data/people.csv")
    }

    private func reason(_ text: String, of names: [String] = ["a.jpg"]) throws -> [String] {
        try table(text).assign(names, sites: Self.sites, isStrict: true).map {
            if case .failure(let fault) = $0 { fault.detail } else { "fine" }
        }
    }

    private struct Expected: Decodable {
        struct Case: Decodable {
            let image: String
            let vector: [Float]
        }

        let sites: [String]
        let cases: [Case]
    }

    @Test("Twenty rows as people write them give the vectors of the Python reference")
    func reference() throws {
        let folder = Fixtures.url("ClinicalMetadata")
        let expected = try JSONDecoder().decode(
            Expected.self,
            from: Data(contentsOf: folder.appendingPathComponent("expected.json"))
        )
        let settings = BodySites(expected.sites)
        let table = try MetadataTable(path: folder.appendingPathComponent("table.csv").path)
        let found = table.assign(expected.cases.map { "\($0.image).jpg" }, sites: settings)
        #expect(expected.cases.count == 20)
        for (entry, result) in zip(expected.cases, found) {
            let reading = try #require(try result.get(), "\(entry.image)")
            #expect(reading.metadata.vector(settings) == entry.vector, "\(entry.image)")
            // Its age is -5.
            #expect(reading.notes.isEmpty == (entry.image != "a16"), "\(entry.image)")
        }
    }

    @Test("With --strict-metadata, a field that cannot be understood is an error that names file and row")
    func faults() throws {
        let head = "image,age_approx,sex,anatom_site_general\n"
        #expect(try reason(head + "b,1,male,\na,old,male,") == ["people.csv row 3: age_approx \"old\" is not a number"])
        #expect(try reason(head + "a,0x20,male,")[0].contains("row 2: age_approx \"0x20\""))
        #expect(try reason(head + "a,inf,,")[0].contains("is not a number"))
        #expect(try reason(head + "a,1e999,,")[0].contains("is not a number"))
        #expect(try reason(head + "a,600,,")[0].contains("age_approx \"600\" is not from 0 to 130 years"))
        #expect(try reason(head + "a,-5,,")[0].contains("is not from 0 to 130 years"))
        #expect(try reason(head + "a,,,left toe")[0].contains("row 2: anatom_site_general \"left toe\" is not one of"))
        #expect(try reason(head + "a,,robot,")[0].contains("row 2: sex \"robot\""))
        #expect(try reason(head + "a,1,male")[0] == "people.csv row 2 has 3 fields, but the table has 4 columns")
        #expect(try reason(head + "a,1,male,,x")[0] == "people.csv row 2 has 5 fields, but the table has 4 columns")
        #expect(try reason(head + "a,1,male,, ,") == ["fine"])
        #expect(try reason(head + "\"two\nlines\",1,,\na,x,,")[0].contains("row 4:"))
        // The rows of other pictures do no harm.
        #expect(try reason(head + "b,old,robot,nowhere\na,5,,") == ["fine"])
    }

    @Test("A row finds its picture by path, by file name or by the name without ending, the most exact first")
    func matching() throws {
        let text = "age_approx,image\n1,x/a.jpg\n2,a.jpg\n3,a\n4,./y/b\n"
        let found = try table(text).assign(["x/a.jpg", "z/a.jpg", "q/a.png", "y/b.tif", "c.jpg"], sites: Self.sites)
        #expect(try found.map { try $0.get()?.metadata.age } == [1, 2, 3, 4, nil])
    }

    @Test("A row that may be any of several pictures is none's, and rows that disagree are refused")
    func ambiguity() throws {
        let text = "image,age_approx\na,30\nb,1\nb,1\nc,1\nc,2\n"
        let reasons = try reason(text, of: ["x/a.jpg", "y/a.jpg", "b.png", "c.png"])
        let advice = "means several photos. Write the end of the path of one, as the run's note shows"
        #expect(reasons[0] == "people.csv row 2 \(advice)")
        #expect(reasons[1] == reasons[0] && reasons[2] == "fine")
        #expect(reasons[3] == "people.csv rows 5 and 6 have different values")
    }

    @Test("Photos of one name in two inputs are told apart by the ends of their paths, and a row for both is none's")
    func inputs() throws {
        let paths = ["/d/h/v1/l-1.jpg", "/d/h/v2/l-1.jpg"]
        for (one, two) in [("v1/l-1.jpg", "v2/l-1.jpg"), ("h/v1/l-1", "./v2/l-1"), (paths[0], paths[1])] {
            let found = try table("image,age_approx\n\(one),20\n\(two),70\n").assign(paths, sites: Self.sites)
            #expect(try found.map { try $0.get()?.metadata.age } == [20, 70], "\(one)")
        }
        // The name that each has relative to its own input is the same.
        for name in ["l-1.jpg", "l-1"] {
            let text = "image,age_approx\n\(name),20\n"
            let reasons = try reason(text, of: paths)
            #expect(reasons[0].hasPrefix("people.csv row 2 means several photos") && reasons[1] == reasons[0])
            // The results of one photo have no names of others.
            #expect(!reasons[0].contains("l-1"))
            let note = "people.csv: 1 name means several photos, such as \"\(name)\" (row 2). "
            #expect(try table(text).rowNotes(paths) == [note + "Write the end of the path: v1/l-1.jpg, v2/l-1.jpg"])
        }
    }

    @Test("Rows of one picture that say the same are fine; both lines are named where they do not")
    func duplicates() throws {
        let head = "image,sex,anatom_site_general\n"
        #expect(try reason(head + "a,male,head/neck\na,M,Head and neck\na,male,head_neck") == ["fine"])
        let reasons = try reason(head + "a,male,\na,male,\na,female,")
        #expect(reasons == ["people.csv rows 2 and 4 have different values"])
        // With and without the ending.
        #expect(try reason(head + "a.jpg,male,\na,male,") == ["fine"])
        #expect(
            try reason(head + "a.jpg,male,\na,female,") == ["people.csv rows 2 and 3 have different values"]
        )
        // Two values that are not understood are not the same value.
        let table = try table(head + "a,robot,\na,cyborg,")
        #expect(throws: ClinicalMetadata.ReadingError.self) { try table.assign(["a.jpg"], sites: Self.sites)[0].get() }
    }

    @Test(
        "A file that is no table of this kind is refused as a whole",
        arguments: [
            "", "\n\n", "a,b\n1,2", "title;age_approx\na;1", "image,image\na,b", "image,x\n\"a,1", "image,x\n\"a\"b,1",
            "\u{0}\u{1}\u{2}", "\"image", "\"",
        ]
    )
    func refused(_ text: String) {
        #expect(throws: BatchError.self) { try table(text) }
    }

    @Test("Fields in quotes hold what they hold; every kind of line end ends a row")
    func delimited() throws {
        let rows = try DelimitedText.rows(Array("\u{FEFF}a,\"b,\"\"c\"\"\"\r\n\"d\r\ne\",\"\"\rf,g\n\n\nh,".utf8))
        #expect(rows.map(\.fields) == [["a", "b,\"c\""], ["d\r\ne", ""], ["f", "g"], ["h", ""]])
        #expect(rows.map(\.number) == [1, 2, 4, 7])
        #expect(try DelimitedText.rows([]).isEmpty)
        #expect(try DelimitedText.rows(Array("\"\"".utf8)).map(\.fields) == [[""]])
    }

    @Test("A row of more fields than any table has is a fault")
    func wide() throws {
        let commas = [UInt8](repeating: UInt8(ascii: ","), count: 9_999)
        #expect(try DelimitedText.rows(commas).map(\.fields.count) == [10_000])
        #expect(throws: DelimitedText.Fault.self) { try DelimitedText.rows(commas + [UInt8(ascii: ",")]) }
    }

    @Test("Any bytes end as rows or as a fault")
    func noise() {
        var state: UInt64 = 7
        for _ in 0..<500 {
            var bytes: [UInt8] = []
            for _ in 0..<40 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append([34, 44, 10, 13, 65, 0xEF, 0xFF, 0][Int(state >> 61)])
            }
            do throws(DelimitedText.Fault) {
                let rows = try DelimitedText.rows(bytes)
                #expect(rows.allSatisfy { !$0.fields.isEmpty })
            } catch {
                #expect((error.row ?? 0) >= 1)
            }
        }
    }
}
