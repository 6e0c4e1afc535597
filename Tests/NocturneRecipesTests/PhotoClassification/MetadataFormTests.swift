import Foundation
import NocturneBatch
import NocturneOutput
import NocturnePhotos
import NocturneSystem
import Testing

@Suite("Tables of metadata as they are published")
struct MetadataFormTests {
    /// Those of the sample package.
    static let settings = BodySites([
        "anterior torso", "head/neck", "lateral torso", "lower extremity", "oral/genital", "palms/soles",
        "posterior torso", "upper extremity", "unknown",
    ])

    @Test("A table that was moved is refused with the option that gives its new path")
    func moved() throws {
        let error = #expect(throws: BatchError.self) { try MetadataTable(path: "/nowhere/t.csv") }
        let text = "the metadata /nowhere/t.csv does not exist. Check the path, or give the new one with --metadata"
        #expect("\(try #require(error))".contains(text))
    }

    private func vectors(_ text: String, of names: [String]) throws -> [[Float]?] {
        try MetadataTable(bytes: Array(text.utf8), path: "t.csv").assign(names, sites: Self.settings).map {
            try $0.get().map { $0.metadata.vector(Self.settings) }
        }
    }

    @Test("A field of many bytes is refused with its row, and comes into no message")
    func longField() throws {
        let bytes = Array("image,site\na,back\nb,\"\(String(repeating: "x", count: 1 << 20))\"\n".utf8)
        let error = try #require(throws: BatchError.self) { _ = try MetadataTable(bytes: bytes, path: "t.csv") }
        #expect(error.detail.contains("row 3: a field has 1 MiB; the most is 64 KiB"), "\(error.detail.prefix(200))")
    }

    @Test("HAM10000")
    func ham10000() throws {
        let text = """
            lesion_id,image_id,dx,dx_type,age,sex,localization,dataset
            HAM_0000118,ISIC_0027419,bkl,histo,80.0,male,scalp,vidir_modern
            HAM_0002730,ISIC_0026769,bkl,histo,85.0,female,back,rosendahl
            HAM_0001466,ISIC_0031633,bkl,histo,,unknown,unknown,vidir_modern
            HAM_0005132,ISIC_0025837,bkl,histo,0.0,female,lower extremity,vienna_dias

            """
        let names = ["ISIC_0027419", "ISIC_0026769", "ISIC_0031633", "ISIC_0025837", "ISIC_1"].map {
            "part_1/\($0).jpg"
        }
        let wanted: [[Float]?] = [[0.8, 0, 0, 1], [0.85, 0, 1, 6], [0, 1, 2, 8], [0, 0, 1, 3], nil]
        #expect(try vectors(text, of: names) == wanted)
    }

    @Test("The training table of ISIC 2019")
    func isic2019() throws {
        let text = """
            image,age_approx,anatom_site_general,lesion_id,sex
            ISIC_0000000,55.0,anterior torso,,female
            ISIC_0000002,30.0,upper extremity,,
            ISIC_0000004,80.0,,,male

            """
        let names = ["ISIC_0000000.jpg", "ISIC_0000002.jpg", "ISIC_0000004.jpg"]
        #expect(try vectors(text, of: names) == [[0.55, 0, 1, 0], [0.3, 0, 2, 7], [0.8, 0, 0, 8]])
    }

    @Test("The training table of ISIC 2020, where the torso is one site")
    func isic2020() throws {
        let text = """
            image_name,patient_id,sex,age_approx,anatom_site_general_challenge,diagnosis,benign_malignant,target
            ISIC_2637011,IP_7279968,male,45.0,head/neck,unknown,benign,0
            ISIC_0015719,IP_3075186,female,45.0,torso,unknown,benign,0
            ISIC_0052212,IP_2842074,NA,NA,palms/soles,nevus,benign,0

            """
        let names = ["ISIC_2637011.dcm", "ISIC_0015719.jpg", "ISIC_0052212.jpg"]
        #expect(try vectors(text, of: names) == [[0.45, 0, 0, 1], [0.45, 0, 1, 0], [0, 1, 2, 5]])
        let table = try MetadataTable(bytes: Array(text.utf8), path: "t.csv")
        let notes = try table.assign(names, sites: Self.settings).map { try $0.get()?.notes.texts }
        #expect(notes == [[], ["anatom_site_general_challenge \"torso\" was taken as anterior torso"], []])
        let whole = BodySites(["torso", "unknown"])
        #expect(try table.assign([names[1]], sites: whole)[0].get()?.metadata.site == "torso")
        #expect(try table.assign([names[1]], sites: whole)[0].get()?.notes.texts == [])
    }

    @Test("The archive's table, in which all fields are quoted")
    func archive() throws {
        let text = """
            "isic_id","attribution","copyright_license","age_approx","anatom_site_general","sex"
            "ISIC_0024306","ViDIR Group, Vienna","CC-BY-NC","45","lateral torso","male"
            "ISIC_0024307","ViDIR Group, Vienna","CC-BY-NC","50","oral/genital","female"

            """
        let names = ["ISIC_0024306.jpg", "ISIC_0024307.jpg"]
        #expect(try vectors(text, of: names) == [[0.45, 0, 0, 2], [0.5, 0, 1, 4]])
    }

    @Test("PAD-UFES-20, whose places are in capitals")
    func padUFES() throws {
        let text = """
            patient_id,lesion_id,age,gender,fitspatrick,region,diagnostic,img_id
            PAT_1516,1765,8,,,ARM,NEV,PAT_1516_1765_530.png
            PAT_46,881,55,FEMALE,3.0,NECK,BCC,PAT_46_881_939.png

            """
        #expect(
            try vectors(text, of: ["PAT_1516_1765_530.png", "PAT_46_881_939.png"])
                == [[0.08, 0, 2, 7], [0.55, 0, 1, 1]]
        )
    }

    @Test(
        "A column is found whatever its case, spaces and punctuation",
        arguments: [
            "image_id,age", "Image ID,AGE", "IMAGE-ID, Age ", "ImageId,Patient age", "image id,age_approx,,",
            "Image,age (years)",
        ]
    )
    func spelling(_ header: String) throws {
        let more = header.hasSuffix(",") ? ",," : ""
        #expect(try vectors("\(header)\na,30\(more)", of: ["a.jpg"]) == [[0.3, 0, 2, 8]])
    }

    @Test("Of several columns with one meaning, the one that ISIC names is used")
    func preferred() throws {
        let text = "isic_id,age,image,age_approx\nb,1,a,30\n"
        #expect(try vectors(text, of: ["a.jpg", "b.jpg"]) == [[0.3, 0, 2, 8], nil])
        // By table, not by row, and with a note.
        let merged = "image,age,localization,site\nb,30,toe,Vienna\nc,20,,back\n"
        #expect(try vectors(merged, of: ["b.jpg", "c.jpg"]) == [[0.3, 0, 2, 8], [0.2, 0, 2, 8]])
        let notes = try MetadataTable(bytes: Array(merged.utf8), path: "t.csv").notes
        #expect(notes.count == 2 && notes[0].contains("no column with the sex"))
        #expect(
            notes[1] == "t.csv: the column with the site on the body is \"localization\". "
                + "Merge the columns if the values that are not used are needed: \"site\""
        )
    }

    @Test("A column of items or names has the photos only where no other column has them")
    func items() throws {
        let numbers = "item,image,name,age\n1,2.jpg,Anna,70\n2,1.jpg,Berta,20\n3,,Carla,30\n"
        let expected: [[Float]?] = [[0.2, 0, 2, 8], [0.7, 0, 2, 8], nil]
        #expect(try vectors(numbers, of: ["1.jpg", "2.jpg", "Carla.jpg"]) == expected)
        #expect(try vectors("name,item,age\nAnna,1,20\n", of: ["1.jpg", "Anna.jpg"]) == [expected[0], nil])
        #expect(try vectors("name,age\n1,20\n", of: ["1.jpg"]) == [expected[0]])
    }

    private func refusal(_ bytes: [UInt8]) -> String {
        do {
            _ = try MetadataTable(bytes: bytes, path: "/data/t.csv")
            return "accepted"
        } catch {
            return "\(error)"
        }
    }

    @Test("A table without a column of pictures is refused with its columns and what would be understood")
    func noPictures() {
        let found = refusal(Array("patient;Age;sex\n1;2;male".utf8))
        #expect(found.contains("(columns: \"patient\", \"Age\", \"sex\")"))
        #expect(found.contains("Add a column image, image_id, image_name or isic_id"))
        #expect(refusal([]).contains("the table is empty"))
        #expect(refusal(Array("Age,age,image_id,image_id".utf8)).contains("\"image_id\" twice"))
        #expect(refusal(Array("age,Age,image".utf8)).contains("\"age\" twice"))
        #expect(refusal(Array("x,y,y,image,age".utf8)) == "accepted")
        let noFacts = refusal(Array("image,foo\na,1".utf8))
        #expect(noFacts.contains("no column has the age, the sex or the site (columns: \"image\", \"foo\")"))
        #expect(refusal([0x50, 0x4B, 3, 4, 20, 0]).contains("Save it as CSV in UTF-8"))
    }

    @Test("German names and values are understood")
    func german() throws {
        let text = "Bildname;Alter;Geschlecht;Lokalisation\na;62,5;W;Rücken\nb;40;männlich;Kopf\n"
        #expect(try vectors(text, of: ["a.jpg", "b.jpg"]) == [[0.625, 0, 1, 6], [0.4, 0, 0, 1]])
    }

    @Test("A table that names none of the pictures is refused with a name of each side")
    func noMatch() throws {
        let table = try MetadataTable(bytes: Array("image,age\na,1\n".utf8), path: "t.csv")
        try table.checkMatches(["x.jpg", "a.jpg"], path: "t.csv")
        do {
            try table.checkMatches(["x.jpg"], path: "t.csv")
            Issue.record("accepted")
        } catch {
            #expect(
                "\(error)".contains(
                    "no photo in the table is among the inputs. Row 2 names \"a\", the first input is \"x.jpg\""
                )
            )
        }
        let empty = try MetadataTable(bytes: Array("image,age\n".utf8), path: "t.csv")
        #expect { try empty.checkMatches(["x.jpg"], path: "t.csv") } throws: { "\($0)".contains("no row for a photo") }
    }

    @Test("A meaning without a column is noted with the columns that are not used")
    func missing() throws {
        let table = try MetadataTable(bytes: Array("image,age,gendr,spot\na,1,male,face".utf8), path: "/data/t.csv")
        #expect(table.notes.count == 2)
        #expect(
            table.notes[0] == "t.csv: no column with the sex was found. "
                + "Rename the column to one of: sex, gender, patient_sex, geschlecht. Columns that are not used: \"gendr\", \"spot\""
        )
        let site = "no column with the site on the body was found. Rename the column to one of: anatom_site"
        #expect(table.notes[1].contains(site))
        #expect(try MetadataTable(bytes: Array("image,age\na,1".utf8), path: "t.csv").notes.isEmpty)
    }
}
