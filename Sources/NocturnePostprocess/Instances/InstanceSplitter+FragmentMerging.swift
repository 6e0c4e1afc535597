import NocturneSystem

extension InstanceSplitter {
    /// Merges neighbouring fragments with a weak boundary between them, such as those into which a spine with a bright band
    /// is split.
    ///
    /// The weakest contact is merged first, and after each step the contacts of the merged fragment are added up, so a
    /// strong edge further along keeps two fragments separate. A merged fragment keeps the lowest of the numbers.
    struct FragmentMerging {
        private struct Contact {
            var low: Int32
            var high: Int32
            /// Pairs of neighbouring pixels; 0 for a contact that was merged away.
            var pairs: Int
            /// Of the stronger boundary of each pair.
            var sum: Double
            var mean: Double { sum / Double(pairs) }
            var key: Int64 { FragmentMerging.key(low, high) }
        }

        private var contacts: [Contact] = []
        /// The contact of two fragments, by both numbers.
        private var places: [Int64: Int] = [:]
        /// The contacts of a fragment; some of them may have been removed.
        private var around: [[Int]]
        /// The fragment into which each one has been merged; itself at first.
        private var targets: [Int32]

        /// The lower number in the upper half, so that keys order contacts as their numbers do.
        private static func key(_ a: Int32, _ b: Int32) -> Int64 { Int64(min(a, b)) << 32 | Int64(max(a, b)) }

        /// - Parameter pieces: the highest number in `labels`.
        init(labels: [Int32], pieces: Int, boundary: [Float], width: Int) {
            around = Array(repeating: [], count: pieces + 1)
            targets = Array(0...Int32(pieces))
            let count = labels.count
            for place in 0..<count where (place + 1) % width != 0 { touch(place, place + 1, labels, boundary) }
            for place in 0..<max(count - width, 0) { touch(place, place + width, labels, boundary) }
        }

        private mutating func touch(_ a: Int, _ b: Int, _ labels: [Int32], _ boundary: [Float]) {
            let (first, second) = (labels[a], labels[b])
            guard first != second, first > 0, second > 0 else { return }
            let strength = Double(max(boundary[a], boundary[b]))
            let key = FragmentMerging.key(first, second)
            if let place = places[key] {
                contacts[place].pairs += 1
                contacts[place].sum += strength
            } else {
                places[key] = contacts.count
                around[Int(first)].append(contacts.count)
                around[Int(second)].append(contacts.count)
                contacts.append(Contact(low: min(first, second), high: max(first, second), pairs: 1, sum: strength))
            }
        }

        /// The number of the merged fragment for each fragment number. The time is at worst quadratic in the number of
        /// fragments.
        mutating func run(below: Float, minimumContact: Int, flag: CancellationFlag) throws(CancelledError) -> [Int32] {
            while let weakest = weakest(below: Double(below), minimumContact) {
                try flag.check()
                join(contacts[weakest].low, contacts[weakest].high)
            }
            // A fragment may have been merged into one that was itself merged later.
            for piece in targets.indices { targets[piece] = targets[Int(targets[piece])] }
            return targets
        }

        private func weakest(below: Double, _ minimumContact: Int) -> Int? {
            var best: Int?
            for (index, contact) in contacts.enumerated()
            where contact.pairs >= max(minimumContact, 1) && contact.mean < below {
                guard let other = best else {
                    best = index
                    continue
                }
                if (contact.mean, contact.key) < (contacts[other].mean, contacts[other].key) { best = index }
            }
            return best
        }

        private mutating func join(_ keep: Int32, _ gone: Int32) {
            for piece in targets.indices where targets[piece] == gone { targets[piece] = keep }
            for index in around[Int(gone)] where contacts[index].pairs > 0 {
                let contact = contacts[index]
                places[contact.key] = nil
                contacts[index].pairs = 0
                let other = contact.low == gone ? contact.high : contact.low
                guard other != keep else { continue }
                let key = FragmentMerging.key(keep, other)
                if let place = places[key] {
                    contacts[place].pairs += contact.pairs
                    contacts[place].sum += contact.sum
                } else {
                    places[key] = index
                    contacts[index] = Contact(
                        low: min(keep, other),
                        high: max(keep, other),
                        pairs: contact.pairs,
                        sum: contact.sum
                    )
                    around[Int(keep)].append(index)
                }
            }
            around[Int(gone)] = []
        }
    }
}
