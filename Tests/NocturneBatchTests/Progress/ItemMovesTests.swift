import NocturneBatch
import Testing

@Suite("Moves of items between stages")
struct ItemMovesTests {
    private func move(_ change: ItemMoves.Change, at milliseconds: Int) -> ItemMoves.Move {
        ItemMoves.Move(id: 1, change: change, time: .milliseconds(milliseconds))
    }

    @Test("A view is due a few times a second at most, and not when an item leaves a stage")
    func intervals() {
        var moves = ItemMoves(since: .zero)
        let steps: [(ItemMoves.Change, Int, isDue: Bool)] = [
            (.entered(.load), 200, false), (.left(.load), 201, false), (.entered(.infer), 202, true),
            (.stepped(share: 0.1), 402, false), (.stepped(share: 0.2), 403, true),
        ]
        for (change, time, isDue) in steps {
            let due = moves.add(move(change, at: time))
            #expect(due == isDue)
        }
    }

    @Test("Moves are taken once, in order")
    func taking() {
        var moves = ItemMoves(since: .zero)
        for time in [1, 2, 3] { _ = moves.add(move(.left(.load), at: time)) }
        let taken = moves.take()
        #expect(taken.map(\.time) == [.milliseconds(1), .milliseconds(2), .milliseconds(3)])
        let rest = moves.take()
        #expect(rest.isEmpty)
    }
}
