internal import NocturneCore
internal import NocturneSystem

extension TileDevice {
    /// Runs every kernel on a small image here and on another device.
    /// - Returns: the first kernel whose results differ in any bit; nil if there is none.
    /// - Throws: ``EngineError`` of either.
    package func kernel(differingFrom other: TileDevice) throws -> String? {
        for padding in [TilingRule.Padding.zero, .edge] {
            let (found, expected) = (try results(padding), try other.results(padding))
            for (found, expected) in zip(found, expected) where found.bits != expected.bits { return found.kernel }
        }
        return nil
    }

    /// Two channels, three classes, and tiles that overlap along every axis, padded along z.
    private func results(_ padding: TilingRule.Padding) throws -> [(kernel: String, bits: [UInt32])] {
        let plan = try TilePlan(
            imageShape: GridZYX(5, 9, 11),
            patch: GridZYX(6, 5, 7),
            step: 0.5,
            rule: TilingRule(padding: padding)
        )
        let (channels, classes, patch) = (2, 3, plan.patch.count)
        var state: UInt32 = 1
        // Values of all magnitudes that logits have, by a linear congruential generator.
        func values(_ count: Int) -> [Float] {
            (0..<count).map { _ in
                state = state &* 1_664_525 &+ 1_013_904_223
                return (Float(state >> 8) / Float(1 << 23) - 1) * 20
            }
        }
        let image = try memory(values(channels * plan.imageShape.count))
        let map = try memory(values(patch).map { $0 * $0 + 0.1 })
        let tile = try allocate(channels * patch, of: Float.self)
        let sum = try allocate(classes * patch, of: Float.self)
        let accumulator = try DeviceAccumulator(
            plan: plan,
            classes: classes,
            map: map,
            resumingAtPlane: 0,
            on: self
        )
        var results: [(String, [UInt32])] = []
        for index in 0..<plan.tileCount {
            try cut(index, of: plan, from: image, flippedAlong: [0, 2], into: tile)
            results.append(("tile_cut", try bits(tile)))
            for pass in 0..<3 {
                let logits = try memory(values(classes * patch))
                results += try labels(of: logits, voxels: patch).map { ("tile_label", $0) }
                try add(
                    logits,
                    patch: plan.patch,
                    flippedAlong: [pass],
                    to: sum,
                    isFirst: pass == 0,
                    divisor: pass == 2 ? 3 : nil
                )
            }
            results.append(("tile_add", try bits(sum)))
            try accumulator.add(sum)
            guard (index + 1) % plan.tilesInRow == 0 else { continue }
            for plane in try accumulator.finishRow() {
                var found = [Float](repeating: 0, count: classes * plan.imageShape.y * plan.imageShape.x)
                try found.withUnsafeMutableBufferPointer { try accumulator.read(plane, into: $0) }
                results.append(("tile_blend or tile_divide", found.map(\.bitPattern)))
            }
        }
        let odd = try memory([1, .nan, -.infinity, .greatestFiniteMagnitude, .infinity, 0])
        results.append(("tile_odd", [UInt32(try NonFiniteCounter(on: self).count(odd, count: 6))]))
        return results
    }

    /// By both kinds of decision.
    private func labels(of logits: DeviceMemory, voxels: Int) throws -> [[UInt32]] {
        let labels = try allocate(voxels, of: UInt16.self)
        return try [nil, Float(3)].map { threshold in
            try label(logits, by: Labelling([0, 7, 9], threshold: threshold, on: self), into: labels)
            var found = [UInt16](repeating: 0, count: voxels)
            try found.withUnsafeMutableBufferPointer { try download(labels, to: $0) }
            return found.map(UInt32.init)
        }
    }

    private func memory(_ values: [Float]) throws -> DeviceMemory {
        try values.withUnsafeBufferPointer { try allocate(copying: $0) }
    }

    private func bits(_ memory: DeviceMemory) throws -> [UInt32] {
        var values = [UInt32](repeating: 0, count: memory.floats)
        try values.withUnsafeMutableBufferPointer { try download(memory, to: $0) }
        return values
    }
}
