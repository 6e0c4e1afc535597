import NocturneBatch
import NocturneCore
import NocturneSystem
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

    @Test("Items of other recipes below such a folder are shown without the words, too, and files that do not respond")
    func merging() {
        func item(_ path: String, words: [String] = []) -> DiscoveredItem {
            var item = DiscoveredItem(
                key: path,
                name: "doe",
                model: "m",
                source: "{}",
                path: path,
                fingerprint: .of(path)
            )
            item.words = words
            return item
        }
        let folders = PatientFolders(["/in/DOE": jane], paths: ["/in/DOE/1.dcm"])
        var merged = Discovery.merged([
            Discovery(items: [item("/in/DOE", words: ["doe"])], patients: folders),
            Discovery(items: [item("/in/DOE/doe.jpg"), item("/in/doe.jpg")]),
        ])
        let shown = ShownNames(.hash, words: ["doe"]).shown("doe")
        #expect(merged.items.map(\.name) == ["doe", shown, "doe"])
        #expect(merged.items.map(\.words) == [["doe"], ["doe"], []])
        let silent = UnresponsiveFiles(patience: nil)
        merged.addFailures(of: silent)
        #expect(merged.items.count == 3)
    }
}
