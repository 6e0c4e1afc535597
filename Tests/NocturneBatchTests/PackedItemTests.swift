import NocturneBatch
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("An item in one buffer")
struct PackedItemTests {
    /// Texts that lengths, prefixes and Unicode forms can go wrong with.
    private static let texts = [
        "", "a", "/in/e\u{301}日/scan.nii.gz", "/in/é日/scan.nii.gz", "\0", "a\0b\nc", String(repeating: "x", count: 127),
        String(repeating: "x", count: 128), String(repeating: "/folder", count: 3000),
    ]

    private static func stamps(_ path: String) -> [InputStamp] {
        let state = InputStamp.State(size: 526_336, seconds: 1_600_000_000, nanoseconds: 123_456_789)
        return [InputStamp(path: path, state: state, touchedSeconds: 1_700_000_000)]
    }

    private static func isSame(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

    @Test("has every property as it was given, bit by bit", arguments: texts)
    func initialiser(path: String) {
        for text in Self.texts {
            for key in [text, "nifti:" + path, path, text + path] {
                let item = DiscoveredItem(
                    key: key,
                    name: text,
                    model: text,
                    source: "{\"files\":[\"\(path)\"],\"name\":\"\(text)\"}",
                    path: path,
                    fingerprint: .of(key),
                    inputs: Self.stamps(path) + Self.stamps(text),
                    problem: .setAside(ItemReason(.noSuchFile, text, stage: path))
                )
                #expect(Self.isSame(item.key, key) && Self.isSame(item.name, text) && Self.isSame(item.model, text))
                #expect(Self.isSame(item.source, "{\"files\":[\"\(path)\"],\"name\":\"\(text)\"}"))
                #expect(Self.isSame(item.path, path) && item.fingerprint == .of(key))
                #expect(item.inputs.map { Array($0.path.utf8) } == [Array(path.utf8), Array(text.utf8)])
                #expect(item.inputs.first?.state == Self.stamps(path)[0].state)
                #expect(item.problem == .setAside(ItemReason(.noSuchFile, text, stage: path)))
                #expect(item.suffix.isEmpty && item.words.isEmpty && item.recipe == 0)
            }
        }
    }

    @Test("has what was set last, and nothing else changes; a copy stays as it was")
    func setters() {
        let first = DiscoveredItem(
            key: "k",
            name: "n",
            model: "m",
            source: "{}",
            path: "/p",
            fingerprint: .of("f"),
            inputs: Self.stamps("/p")
        )
        var item = first
        for text in Self.texts {
            item.suffix = text
            item.words = [text, "", text]
            item.recipe = text.utf8.count
            item.problem = .refused(ItemReason(.noSuchFile, text))
            item.source = text
            #expect(item.suffix == text && item.words == [text, "", text] && item.recipe == text.utf8.count)
            #expect(item.problem == .refused(ItemReason(.noSuchFile, text)) && Self.isSame(item.source, text))
            #expect(item.key == "k" && item.name == "n" && item.fingerprint == .of("f"))
            #expect(item.packedInputs == PackedStamps(Self.stamps("/p")))
        }
        item.problem = .unknown(ItemReason(.noSuchFile, "t"))
        #expect(item.problem == .unknown(ItemReason(.noSuchFile, "t")))
        item.problem = nil
        item.words = []
        item.inputs = []
        #expect(item.problem == nil && item.words.isEmpty && item.packedInputs.isEmpty)
        #expect(first.suffix.isEmpty && first.source == "{}" && first.inputs == Self.stamps("/p"))
    }

    @Test("takes some 200 bytes, and a series of 400 files a twentieth of its text")
    func size() {
        func source(_ number: Int) -> String {
            "{\"files\":[\"/archive/2021/patient-\(number)/ct.nii.gz\"],\"format\":\"nifti\",\"geometry\":{\"origin\":[-250.5,"
                + "\(number).25,17],\"shape\":[512,512,\(100 + number % 300)],\"spacing\":[0.78,0.78,1.5]},\"model\":\"m\"}"
        }
        _ = PackedSource.bytes(source(1), path: "/archive/2021/patient-1/ct.nii.gz", model: "size")
        let path = "/archive/2021/patient-123456/ct.nii.gz"
        let packed = PackedSource.bytes(source(123_456), path: path, model: "size")
        #expect(packed.count < 60 && source(123_456).utf8.count > 150)
        let files = (0..<400).map { "\"/archive/2021/patient-000123/CT/IM-00001-\(1000 + $0).dcm\"" }
            .joined(separator: ",")
        #expect(PackedSource.bytes(files, path: path, model: "size").count < files.utf8.count / 20)
        var random = SplitMix64(seed: 3)
        let noise = String((0..<5000).map { _ in Character(UnicodeScalar(UInt8.random(in: 32...126, using: &random))) })
        #expect(PackedSource.bytes(noise, path: path, model: "size").count <= noise.utf8.count + 5)
    }

    @Test("An item, a decision and a planned entry are the same after they were kept as bytes")
    func bytes() throws {
        for text in Self.texts {
            var item = DiscoveredItem(
                key: text,
                name: text,
                model: "m",
                source: "{}",
                path: "/p",
                fingerprint: .of(text),
                inputs: Self.stamps(text),
                problem: .refused(ItemReason(.noSuchFile, text))
            )
            (item.suffix, item.words, item.recipe) = (text, [text, "w"], 300)
            let again = DiscoveredItem(bytes: item.bytes)
            #expect(again.bytes == item.bytes)
            #expect(again.recipe == 300 && again.words == [text, "w"] && Self.isSame(again.key, text))
            #expect(again.problem == item.problem)
            #expect(again.inputs == item.inputs)

            let planner = WorkPlanner(retries: .none)
            var decision = planner.decide([item], known: KnownItems(), foreign: []) { _ in false }[0]
            let edit = LabelEdit(item: text, baseFingerprint: "1", file: text, sha256: "2", time: "3")
            (decision.edit, decision.suspect, decision.note) = (SharedValue(wrappedValue: edit), true, text)
            let kept = WorkPlanner.Decision(bytes: decision.bytes)
            #expect(kept.bytes == decision.bytes)
            #expect(kept.edit == decision.edit)
            #expect(kept.suspect && !kept.work && kept.note == text)
            #expect(kept.reason == decision.reason)
            #expect(kept.entry == decision.entry)

            let planned = PlannedEntry(decision.entry, inputs: text)
            #expect(PlannedEntry(bytes: planned.bytes) == planned)
        }
    }
}

@Suite("A set of names in little memory")
struct NameSetTests {
    @Test("takes cases and Unicode forms for the same, as a set of lower-case texts does")
    func equality() {
        let names = ["a", "A", "é", "e\u{301}", "É", "E\u{301}", "ß", "ẞ", "SS", "a b", "ab", "", "日", "İ", "i\u{307}"]
        var (set, reference) = (NameSet(), Set<String>())
        for name in names {
            #expect(set.contains(name) == reference.contains(name.lowercased()))
            #expect(set.insert(name) == reference.insert(name.lowercased()).inserted)
        }
    }

    @Test("tells a hundred thousand names apart that differ in digits")
    func digits() {
        var set = NameSet()
        #expect((0..<100_000).allSatisfy { set.insert("volume_\($0)") })
        #expect((0..<100_000).allSatisfy { set.contains("VOLUME_\($0)") } && !set.contains("volume_100000"))
    }
}
