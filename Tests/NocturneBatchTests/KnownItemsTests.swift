import NocturneBatch
import NocturneJournal
import NocturneSystem
import Testing

@Suite("Items of a journal by their keys")
struct KnownItemsTests {
    /// Pairs with one hash (FNV-1a, 64 bits).
    private static let pairs = [
        ("8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"), ("gMPflVXtwGDXbIhP73TX", "LtHf1prlU1bCeYZEdqWf"),
        ("7mohtcOFVz", "c1E51sSEyx"),
    ]

    private static func item(_ id: Int, _ key: String, _ state: ItemState = .completed) -> JournalItem {
        JournalItem(
            id: Int64(id),
            key: key,
            name: "n\(id)",
            path: "/in/\(id)",
            fingerprint: "f",
            state: state,
            reason: ItemReason(.noSuchFile, "gone", stage: "load"),
            crashes: id % 3,
            notes: ["a", ""]
        )
    }

    @Test("each key has its own item, also where hashes are equal")
    func hashes() {
        let keys = Self.pairs.flatMap { [$0.0, $0.1] }
        for (first, second) in Self.pairs { #expect(TextHash.of(first) == TextHash.of(second)) }
        let items = keys.enumerated().map { Self.item($0.offset + 1, $0.element) }
        let known = KnownItems(FileBackedList(items))
        #expect(keys.map { known[$0]?.id } == [1, 2, 3, 4, 5, 6] && Array(known.all) == items)
        let half = KnownItems(FileBackedList(items.filter { $0.id % 2 == 1 }))
        #expect(keys.map { half[$0]?.id } == [1, nil, 3, nil, 5, nil])
    }

    @Test("Unicode forms of a key are one key")
    func forms() {
        let known = KnownItems([Self.item(1, "nifti:/in/e\u{301}.nii")])
        #expect(known["nifti:/in/\u{e9}.nii"]?.id == 1 && known["nifti:/in/e.nii"] == nil)
        #expect(KnownItems().isEmpty && KnownItems()["k"] == nil)
    }

    @Test("Numbers of a damaged journal are kept as they are")
    func damaged() {
        for (id, crashes) in [(-1, -3), (Int.min, Int.max), (0, Int.min)] {
            var item = Self.item(id, "k")
            item.crashes = crashes
            #expect(JournalItem(bytes: item.bytes) == item)
        }
    }

    @Test("Ten thousand items in any order are found as they were")
    func many() {
        let states = ItemState.allCases
        let items = (1...10_000).reversed().map { Self.item($0, "k\($0)", states[$0 % states.count]) }
        let known = KnownItems(FileBackedList(items))
        #expect(items.allSatisfy { known[$0.key] == $0 })
        #expect(known["k0"] == nil && known["k10001"] == nil)
    }
}
