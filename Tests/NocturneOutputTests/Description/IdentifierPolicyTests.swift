import Foundation
import NocturneCore
import NocturneOutput
import NocturneSystem
import Testing

@Suite("Names in results")
struct IdentifierPolicyTests {
    private func digits(_ uid: String) -> String { "uid-" + ContentDigest.of(uid).hex.prefix(10) }

    @Test("UIDs become digests, the same ones everywhere, and nothing else changes")
    func hash() {
        let uid = "1.2.840.113619.2.55.3.604688119"
        let policy = ShownNames(.hash)
        #expect(policy.shown(uid) == digits(uid))
        #expect(policy.shown("study/\(uid)/\(uid).4.5.dcm") == "study/\(digits(uid))/\(digits(uid + ".4.5")).dcm")
        #expect(policy.shown("CT.\(uid)..dcm") == "CT.\(digits(uid))..dcm")
        #expect(policy.itemName(uid, key: "k") == digits(uid))
        for name in [
            "", ".", "....", "v1.2.3.4", "case_0001.nii.gz", "10.0.0.1", "2026.11.21", "a1b2", "1..2..3..4..5",
        ] {
            #expect(policy.shown(name) == name)
        }
    }

    @Test("With none nothing of a name is left, and items of different sources have different names")
    func none() {
        let policy = ShownNames(.none)
        #expect(policy.shown("MUSTER^EVA/1.2.3") == "withheld")
        #expect(policy.itemName("MUSTER^EVA", key: "a") == "item-" + ContentDigest.of("a").hex.prefix(12))
        #expect(policy.itemName("MUSTER^EVA", key: "a") != policy.itemName("MUSTER^EVA", key: "b"))
    }

    @Test("Kept names are as they were")
    func keep() { #expect(ShownNames(.keep).shown("1.2.840.10008.5") == "1.2.840.10008.5") }

    @Test("A sentence about a file keeps its sense; only UIDs become digests, and only the standard's own stay")
    func sentences() {
        let uid = "1.2.840.113619.2.55.3.604688119"
        let path = "/data/MUSTER EVA/\(uid).nii"
        let fact = "voxel 3 of 17 is not in 1.2.840.10008.1.2.4.90"
        let text = "\(path): \(fact)"
        #expect(ShownNames(.keep).shown(in: text, of: [path]) == text)
        #expect(
            ShownNames(.hash).shown(in: text, of: [path]) == "/data/MUSTER EVA/\(digits(uid)).nii: \(fact)"
        )
        #expect(ShownNames(.none).shown(in: text, of: [path]) == "withheld: \(fact)")
    }

    @Test(
        "With none, no sentence names a file",
        arguments: [
            ("/data/MUSTER EVA/IM 1: damaged", ["/data/MUSTER EVA"], "withheld: damaged"),
            ("/data/MUSTER EVA/IM1 was changed", ["/data/MUSTER EVA"], "withheld was changed"),
            ("“IM 1”: damaged", [], "withheld: damaged"),
            (
                "channel T2 (“EVA_0001.nii”) has 3 voxels of 1.0×1.0×2.5 mm", [],
                "channel T2 (withheld) has 3 voxels of 1.0×1.0×2.5 mm"
            ),
            (
                "2 copies, e.g. EVA/IM1 and EVA/IM2", ["/in/EVA/IM1", "/in/EVA/IM2"],
                "2 copies, e.g. withheld and withheld"
            ),
            ("compared with b/EVA.seg: 3 voxels", ["/a/b/EVA.seg"], "compared with withheld: 3 voxels"),
            ("IM1.dcm and 3 more: bytes were skipped", [], "withheld and 3 more: bytes were skipped"),
            ("1.2.840.113619.2.55.3 is given twice", [], "withheld is given twice"),
            (
                "needs 12 GB of memory, the budget leaves 3.5", ["/in/12"],
                "needs 12 GB of memory, the budget leaves 3.5"
            ),
            ("like MUSTER EVA/IM9, g/ml and mm/s", ["/in/MUSTER EVA/IM1"], "like withheld, g/ml and mm/s"),
            ("", ["/in/a.nii"], ""),
        ] as [(String, [String], String)]
    )
    func nameless(text: String, paths: [String], shown: String) {
        #expect(ShownNames(.none).shown(in: text, of: paths) == shown)
    }

    @Test("Names that are marked in a sentence are found again without their files")
    func marks() {
        let text = IdentifierPolicy.marking(
            ["/in/EVA/IM1", "/in/EVA/IM2"],
            in: "IM1 and IM2, “IM2” too, but not IM10, lie at one place"
        )
        #expect(text == "“IM1” and “IM2”, “IM2” too, but not IM10, lie at one place")
        #expect(
            ShownNames(.none).shown(in: text, of: [])
                == "withheld and withheld, withheld too, but not IM10, lie at one place"
        )
    }

    @Test("A private transfer syntax is named", arguments: [IdentifierPolicy.hash, .none])
    func transferSyntax(policy: IdentifierPolicy) {
        let text = "no decoder for transfer syntax \"1.3.46.670589.33.1.4.1\" (a private one of Philips)"
        let names = ShownNames(policy)
        #expect(names.shown(in: text, of: ["/data/a.dcm"]) == text)
        let other = "image 1.3.46.670589.33.1.4.1"
        #expect(names.shown(in: other, of: []) != other)
    }

    @Test("In a note only the values that come from an input change, not the words of the program")
    func notes() {
        let uid = "1.2.840.113619.2.55.3"
        let note = Note(
            "test.note",
            "slice \(2) of the slice set \(own: "slice doe") in \(file: "/in/doe/x 1.dcm") is \("doe's, \(uid)")"
        )
        let hashed = ShownNames(.hash, words: ["doe", "slice"])
        let doe = hashed.shown("doe")
        #expect(
            hashed.shown(note, of: []).description
                == "slice 2 of the slice set slice doe in /in/\(doe)/x 1.dcm is \(doe)'s, \(digits(uid))"
        )
        #expect(
            ShownNames(.none).shown(note, of: []).description
                == "slice 2 of the slice set slice doe in withheld is doe's, withheld"
        )
        #expect(ShownNames(.keep, words: ["doe"]).shown(note, of: []) == note)
        #expect(hashed.shown(note, of: []).code == note.code)
    }
}
