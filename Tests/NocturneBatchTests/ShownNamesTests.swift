import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("Names of patients in shown names")
struct ShownNamesTests {
    private let words = ["doe", "jane", "19700101"]

    @Test("With hash each word becomes a digest, the same one everywhere; the rest stays")
    func hash() throws {
        let names = ShownNames(.hash, words: words)
        let name = names.itemName("DOE_JANE_19700101", key: "k")
        let parts = name.split(separator: "_").map(String.init)
        #expect(parts.count == 3 && Set(parts).count == 3)
        #expect(parts.allSatisfy { $0.hasPrefix("patient-") && $0.count == 16 })
        #expect(names.shown("/in/Doe/jane 1970-01-01/ct.nii") == "/in/\(parts[0])/\(parts[1]) \(parts[2])/ct.nii")
        #expect(names.shown(in: "“DOE.nii”: damaged", of: []) == "“\(parts[0]).nii”: damaged")
        // What is shown already stays as it is.
        #expect(names.shown(name) == name)
    }

    @Test("UIDs become digests as a whole, whatever words they have in them")
    func uids() {
        let uid = "1.2.840.19700101.5.6"
        #expect(ShownNames(.hash, words: words).shown("doe/\(uid)").hasSuffix("/" + ShownNames(.hash).shown(uid)))
    }

    @Test("With keep everything stays, with none nothing")
    func others() {
        #expect(ShownNames(.keep, words: words).shown("DOE/1") == "DOE/1")
        #expect(ShownNames(.keep, words: words).shown(in: "DOE failed", of: []) == "DOE failed")
        #expect(ShownNames(.none, words: words).shown("DOE/1") == "withheld")
    }

    @Test("Only words change a fingerprint")
    func fingerprint() {
        #expect(ShownNames(.hash).fingerprint == "hash" && ShownNames(.keep, words: words).fingerprint == "keep")
        #expect(ShownNames(.hash, words: words).fingerprint != "hash")
    }
}

@Suite("Folders of patients")
struct PatientFoldersTests {
    private let jane = SoughtWords(names: ["Doe", "Jane"], identifiers: [], birthDate: "")

    @Test("Everything below the outermost folder with the patient's name has the words, other folders do not")
    func below() {
        let folders = PatientFolders(
            ["/in/DOE/ct/1": jane],
            paths: ["/in/DOE/ct/1/a", "/in/DOE/doe_jane.nii", "/in/other/doe.nii"]
        )
        #expect(folders.words(of: "/in/DOE/ct/1") == ["doe", "jane"])
        #expect(folders.words(of: "/in/DOE/doe_jane.nii") == ["doe", "jane"])
        #expect(folders.words(of: "/in/other/doe.nii") == [] && folders.words(of: "/in/DOERR/x") == [])
    }

    @Test("Files beside a header are searched where no folder has the name")
    func beside() {
        let folders = PatientFolders(["/in/x": jane], paths: ["/in/x/1.dcm", "/in/x/jane.nii", "/in/jane.nii"])
        #expect(folders.words(of: "/in/x/jane.nii") == ["jane"] && folders.words(of: "/in/x") == ["jane"])
        #expect(folders.words(of: "/in/jane.nii") == [])
    }

    /// States a patient for the folder of each file, and claims none.
    private struct Patients: InputClaims {
        let sought: [String: SoughtWords]
        let seen = Seen()

        final class Seen: Sendable {
            let words = Mutex<[[String]]>([])
        }

        func claim(_ file: FoundFile) -> FileClaim {
            file.name.hasSuffix(".dcm") ? .member(family: nil) : .none("no image")
        }

        func soughtWords() -> [String: SoughtWords] { sought }
        func addItems(of families: [[FoundFile]], _ patients: PatientFolders, to items: FoundItems) throws {
            seen.words.withLock { words in words += families.map { patients.words(of: $0[0].path) } }
        }
    }

    @Test("What the headers of one recipe's files state is withheld by all, and of what nobody claims")
    func allRecipes() throws {
        try TemporaryFolder.with("patients") { folder in
            for name in ["DOE/1.dcm", "DOE/doe.txt", "doe.txt"] { _ = try folder.write("x", to: name) }
            let first = Patients(sought: [folder("DOE").path: jane])
            let second = Patients(sought: [:])
            let table = try FoundTable()
            let request = DiscoveryRequest(inputs: [folder("").path])
            let found = try InputSearch { _, _, _ in [first, second] }.run(request, scope: .serial(), into: table)
            #expect(second.seen.words.withLock { $0 } == [["doe"]])
            let shown = ShownNames(.hash, words: ["doe"]).itemName("doe.txt", key: "file:" + folder("DOE/doe.txt").path)
            let items = try table.items()
            #expect(items.map(\.name) == [shown, "doe.txt"] && items.map(\.words) == [["doe"], []])
            let silent = UnresponsiveFiles(patience: 1, remembered: [folder("DOE").path + "/doe.nii"])
            try table.addFailures(of: silent, .hash, found.patients)
            #expect(try table.items().map(\.words).filter(\.isEmpty).count == 1)
        }
    }
}
