import Foundation
import NocturneBatch
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The queue of items in little memory")
struct ItemQueueTests {
    @Test("Items come out as they went in, by place and by id")
    func roundTrip() throws {
        let folder = try TemporaryFolder("nocturne-queue")
        try folder.write("abc", to: "b/é 1.nii")
        try folder.write("", to: "c.nii")
        let stamps = ["b/é 1.nii", "c.nii", "gone"].map { InputStamp(folder($0).path) }
        let edit = LabelEdit(item: "x", baseFingerprint: "1", file: "f", sha256: "2", time: "3")
        var items = [
            PendingItem(id: 7, recipe: 2, model: "m", name: "é_1", inputs: PackedStamps(stamps), suspect: true),
            PendingItem(id: 1, recipe: 0, model: "", name: "b", inputs: PackedStamps([]), suspect: false),
            PendingItem(id: 3, recipe: 1, model: "m", name: "c", inputs: PackedStamps([stamps[0]]), suspect: false),
        ]
        items[1].edit = SharedValue(wrappedValue: edit)
        items[2].hasEarlierResult = true
        let queue = ItemQueue(items)
        #expect(queue.count == 3 && !queue.isEmpty && Array(queue.ids(from: 1)) == [1, 3])
        for (place, item) in items.enumerated() {
            for found in [queue[place], try #require(queue.item(item.id))] {
                #expect(found.id == item.id && found.recipe == item.recipe)
                #expect(found.model == item.model && found.name == item.name)
                #expect(found.suspect == item.suspect && found.hasEarlierResult == item.hasEarlierResult)
                #expect(found.edit == item.edit)
            }
        }
        #expect(queue[0].inputs.stamps == stamps && queue[1].inputs.isEmpty && queue[2].inputs.stamps == [stamps[0]])
        #expect([0, 2, 8].allSatisfy { queue.item($0) == nil })
        #expect(queue.names(among: ["b", "é_1", "z"]) == ["b", "é_1"])
    }

    @Test("Items are found in long queues, too")
    func long() {
        let queue = ItemQueue((0..<2500).map { PendingItem(id: Int64(5000 - $0), name: "item \($0)") })
        #expect(queue.names(among: ["item 0", "item 1023", "item 1024", "item 2499", "item 2500"]).count == 4)
        for place in [0, 1, 1023, 1024, 2047, 2048, 2499] {
            #expect(queue[place].name == "item \(place)")
            #expect(queue.item(Int64(5000 - place))?.name == "item \(place)")
        }
    }

    @Test("A queue without items has none")
    func none() {
        let queue = ItemQueue([])
        #expect(queue.isEmpty && queue.item(1) == nil && queue.names(among: ["a"]).isEmpty)
    }
}
