import Foundation
import NocturnePhotos
import NocturneRecipeSupport
import NocturneSystem
import Testing

@Suite("Values of metadata and their synonyms")
struct MetadataValueTests {
    private func reading(
        age: String = "",
        sex: String = "",
        site: String = "",
        sites: BodySites = MetadataFormTests.settings
    ) throws -> ClinicalMetadata.Reading {
        let fields = [age, sex, site].map { "\"\($0.replacing("\"", with: "\"\""))\"" }.joined(separator: ",")
        let text = "image_id,age,sex,localization\na,\(fields)\n"
        let table = try MetadataTable(bytes: Array(text.utf8), path: "t.csv")
        return try #require(try table.assign(["a.jpg"], sites: sites)[0].get())
    }

    @Test(
        "Sites of HAM10000, ISIC and others become those of the sample package",
        arguments: [
            "back": "posterior torso", "trunk": "anterior torso", "abdomen": "anterior torso",
            "chest": "anterior torso", "face": "head/neck", "scalp": "head/neck", "neck": "head/neck",
            "ear": "head/neck", "foot": "lower extremity", "hand": "upper extremity",
            "lower extremity": "lower extremity", "upper extremity": "upper extremity", "genital": "oral/genital",
            "acral": "palms/soles", "head/neck": "head/neck", "palms/soles": "palms/soles",
            "oral/genital": "oral/genital", "anterior torso": "anterior torso", "posterior torso": "posterior torso",
            "lateral torso": "lateral torso", "torso": "anterior torso", "Head and Neck": "head/neck",
            "HEAD_NECK": "head/neck", "palms or soles": "palms/soles", " Lower  Extremity ": "lower extremity",
            "unknown": "unknown", "LIP": "head/neck", "buttocks": "posterior torso", "head_neck_face": "head/neck",
            "shoulder": "upper extremity", "left forearm": "upper extremity", "right arm": "upper extremity",
            "palm of hand": "palms/soles", "left sole of foot": "palms/soles", "linker Oberarm": "upper extremity",
        ]
    )
    func sites(_ text: String, _ site: String) throws {
        let found = try reading(site: text)
        #expect(found.metadata.site == site)
        #expect(found.notes.count == (["trunk", "torso"].contains(text) ? 1 : 0))
    }

    @Test("A package with other sites gets the most specific one that it has")
    func otherSites() throws {
        let ham = BodySites(["back", "trunk", "foot", "face", "acral", "genital", "unknown"])
        for (text, site) in [
            "posterior torso": "back", "anterior torso": "trunk", "torso": "trunk", "Feet": "foot", "face": "face",
            "palms/soles": "acral", "oral/genital": "genital", "back": "back",
        ] {
            #expect(try reading(site: text, sites: ham).metadata.site == site, "\(text)")
        }
        #expect(try reading(site: "scalp", sites: ham).metadata.site == "unknown")
        #expect(try reading(site: "scalp", sites: ham).notes.count == 1)
        // A name of the package goes before what the word usually means.
        let own = BodySites(["missing", "chest", "anterior torso", "unknown"])
        #expect(try reading(site: "Missing", sites: own).metadata.site == "missing")
        #expect(try reading(site: "chest", sites: own).metadata.site == "chest")
    }

    @Test("A package with sites of one side gets that side, and no other")
    func sides() throws {
        let sites = BodySites(["left arm", "right arm", "leg", "unknown"])
        #expect(try reading(site: "right_arm", sites: sites).metadata.site == "right arm")
        #expect(try reading(site: "right leg", sites: sites).metadata.site == "leg")
        #expect(try reading(site: "right forearm", sites: sites).metadata.site == "unknown")
    }

    @Test("Ages in years as in DICOM", arguments: ["045Y", "45y", "45 y", "45"])
    func ages(_ text: String) throws { #expect(try reading(age: text).metadata.age == 45) }

    @Test("Sexes", arguments: ["m", "M.", "male", "MALE", " Male "], ["f.", "F", "female", "FEMALE", "Female\t"])
    func sexes(_ male: String, _ female: String) throws {
        #expect(try reading(sex: male).metadata.sex == .male)
        #expect(try reading(sex: female).metadata.sex == .female)
    }

    @Test(
        "What is not stated is unknown, without a note",
        arguments: [
            "", " ", "unknown", "Unknown", "NA", "n/a", "N/A", "nan", "null", "None", "prefer not to say",
            "Prefer_not to say", "not stated", "-", "--", "?", "#N/A", "divers", "Other",
        ]
    )
    func notStated(_ text: String) throws {
        let found = try reading(age: text, sex: text, site: text)
        #expect(found.metadata == .unknown && found.notes.isEmpty)
    }

    @Test("A value that is not understood is unknown, with a note that names it and what would be")
    func notUnderstood() throws {
        let found = try reading(age: "old", sex: "robot", site: "left toe")
        #expect(found.metadata == .unknown)
        #expect(
            found.notes.texts == [
                "age \"old\" is not a number; it was treated as unknown",
                "sex \"robot\" is not one of male, female, m, f, w, man, woman, männlich, weiblich, mann, frau, "
                    + "unknown; it was treated as unknown",
                "localization \"left toe\" is not one of anterior torso, head/neck, lateral torso, lower extremity, "
                    + "oral/genital, palms/soles, posterior torso, upper extremity, unknown, or a usual name for one, "
                    + "such as back, face or foot; it was treated as unknown",
            ]
        )
        // One value that is not understood leaves the others.
        let one = try reading(age: "50", sex: "robot", site: "neck")
        #expect(one.metadata.vector(MetadataFormTests.settings) == [0.5, 0, 2, 1] && one.notes.count == 1)
    }

    @Test("Notes repeat no dates, no long numbers, no claims and no control characters")
    func discreet() throws {
        for text in ["1970-01-01", "01.02.1970", "4711-0815"] {
            let notes = try reading(age: text, sex: text, site: text).notes.texts
            #expect(notes.count == 3 && notes.allSatisfy { !$0.contains(text) && $0.contains("not shown") }, "\(text)")
        }
        let claim = try reading(site: "you have a safe mole").notes.texts
        #expect(claim.count == 1 && claim.allSatisfy { ReportText.diagnosticClaim(in: $0) == nil })
        let control = try reading(sex: "a\u{1B}[31m\u{202E}b\u{7}").notes.texts
        #expect(control[0].hasPrefix("sex \"a [31m b \" is not"))
    }

    @Test("The option is recorded, and in no result")
    func option() throws {
        let strict = try PhotoClassification.Options(given: ["strict-metadata": "yes"])
        #expect(strict.recorded == ["strict-metadata": "yes"] && PhotoClassification.Options().recorded.isEmpty)
        #expect(strict.inResults.isEmpty)
        #expect(try PhotoClassification.Options(recorded: strict.recorded) == strict)
    }
}
