import NocturneCore
import NocturnePipeline
import Testing

@Suite("Names in results")
struct IdentifierPolicyTests {
    private func digits(_ uid: String) -> String { "uid-" + ContentDigest.of(uid).hex.prefix(10) }

    @Test("UIDs become digests, the same ones everywhere, and nothing else changes")
    func hash() {
        let uid = "1.2.840.113619.2.55.3.604688119"
        let policy = IdentifierPolicy.hash
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
        let policy = IdentifierPolicy.none
        #expect(policy.shown("MUSTER^EVA/1.2.3") == "withheld")
        #expect(policy.itemName("MUSTER^EVA", key: "a") == "item-" + ContentDigest.of("a").hex.prefix(12))
        #expect(policy.itemName("MUSTER^EVA", key: "a") != policy.itemName("MUSTER^EVA", key: "b"))
    }

    @Test("Kept names are as they were; the words of a batch give the policy back")
    func keep() {
        #expect(IdentifierPolicy.keep.shown("1.2.840.10008.5") == "1.2.840.10008.5")
        for policy in IdentifierPolicy.allCases { #expect(IdentifierPolicy(words: policy.words) == policy) }
        #expect(IdentifierPolicy(words: [:]) == .hash)
    }
}
