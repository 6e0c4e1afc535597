import NocturneCore
import NocturneTestSupport
import Testing

@Suite("VoxelBuffer and FrozenVoxels")
struct VoxelBufferTests {
    @Test("a new buffer is zero and rounds up to pages", arguments: [0, 1, 1023, 1024, 1025, 3_000_000])
    func zeros(count: Int) throws {
        let buffer = try VoxelBuffer<Float>(count: count)
        #expect(buffer.count == count)
        #expect(buffer.byteCount % 4096 == 0 && buffer.byteCount >= max(count, 1) * 4)
        #expect(buffer.byteCount < count * 4 + 2 * 4096)
        let allZero = buffer.withUnsafeBufferPointer { $0.count == count && $0.allSatisfy { $0 == 0 } }
        #expect(allZero)
    }

    @Test("every door shows the same elements")
    func doors() throws {
        var buffer = try VoxelBuffer<Int32>(count: 1000)
        for index in 0..<1000 { buffer[index] = Int32(index) }
        #expect(buffer[999] == 999)
        buffer[5] = -5
        buffer.withUnsafeMutableBufferPointer { $0[6] = -6 }
        let (fifth, sixth) = buffer.withSpan { ($0[5], $0[6]) }
        #expect(fifth == -5 && sixth == -6)
        #expect(buffer.array().count == 1000)
        buffer.clear()
        #expect(buffer.array() == Array(repeating: 0, count: 1000))
        buffer[0] = 1
        #expect(buffer[0] == 1)
    }

    @Test("freezing keeps the memory and its contents")
    func freezing() throws {
        var buffer = try VoxelBuffer<UInt16>(count: 5000)
        for index in 0..<5000 { buffer[index] = UInt16(index) }
        let before = buffer.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        let frozen = buffer.frozen()
        let after = frozen.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        #expect(before == after)
        #expect(frozen.count == 5000 && frozen[4999] == 4999 && frozen.byteCount == 12_288)
        #expect(frozen.withSpan { $0[77] } == 77)
        let thawed = frozen.thawed()
        #expect(thawed.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } == after)
        #expect(thawed[4999] == 4999 && frozen.count == 0)
    }

    @Test("an array is copied in")
    func fromArray() throws {
        let frozen = try FrozenVoxels<UInt8>([1, 2, 3])
        #expect(frozen.array() == [1, 2, 3])
        let empty = try FrozenVoxels<UInt8>([])
        #expect(empty.count == 0)
    }

    @Test("what cannot be had is an error that says how much")
    func refused() {
        for count in [Int.max, 1 << 44] {
            let error = #expect(throws: AllocationError.self) { _ = try VoxelBuffer<Double>(count: count) }
            #expect(error?.description.hasPrefix("no memory for a buffer of ") == true)
        }
    }

    @Test("errors pass through the closures")
    func errors() throws {
        struct Fault: Error {}
        let buffer = try VoxelBuffer<UInt8>(count: 1)
        var caught = false
        do {
            try buffer.withSpan { _ throws(Fault) in throw Fault() }
        } catch {
            caught = true
        }
        #expect(caught)
    }
}

@Suite("Phantoms")
struct PhantomTests {
    @Test("a ball has about 4/3 π r³ voxels, a box exactly its product")
    func volumes() throws {
        let shape = VolumeShape(x: 64, y: 60, z: 62)
        let ball = try Phantom.ball(shape, centre: SIMD3(31, 30, 30.5), radius: 20, inside: UInt16(1), outside: 0)
        let count = Double(ball.array().reduce(0) { $0 + Int($1) })
        #expect(isClose(count, 4.0 / 3 * Double.pi * 8000, relative: 0.01))
        let box = try Phantom.box(shape, x: 1..<4, y: 0..<60, z: 61..<62, inside: UInt16(1), outside: 0)
        #expect(box.array().reduce(0) { $0 + Int($1) } == 180)
        #expect(box[shape.offset(1, 59, 61)] == 1 && box[shape.offset(4, 59, 61)] == 0)
    }

    @Test("the random numbers are SplitMix64's, and the same every time")
    func random() throws {
        var generator = SplitMix64(seed: 1_234_567)
        // Published first outputs for this seed.
        #expect(generator.next() == 6_457_827_717_110_365_317)
        #expect(generator.next() == 3_203_168_211_198_807_973)
        let shape = VolumeShape(x: 9, y: 8, z: 7)
        #expect(try Phantom.noise(shape, seed: 3).array() == Phantom.noise(shape, seed: 3).array())
        #expect(try Phantom.noise(shape, seed: 3).array() != Phantom.noise(shape, seed: 4).array())
    }

    @Test("comparisons see differences, and the missing of numbers")
    func comparisons() {
        #expect(difference([Float(1), 2], [Float(1), 2]).largest == 0)
        let apart = difference([Float(1), 2.5], [Double(1), 2])
        #expect(apart.largest == 0.5 && apart.index == 1 && apart.relative == 0.25)
        #expect(difference([Float.nan], [Float(1)]).largest == .infinity)
        #expect(difference([Float(1)], [Float]()).largest == .infinity)
        #expect(!isClose(Float.nan, 1, absolute: 10) && !isClose(Float.infinity, 1, relative: 10))
        #expect(allClose([Float(1)], [1.001], absolute: 0.01) && !allClose([Float(1)], [1.001]))
        #expect(unitsInLastPlace(between: 1, and: Float(1).nextUp) == 1)
        #expect(unitsInLastPlace(between: -Float.leastNonzeroMagnitude, and: .leastNonzeroMagnitude) == 2)
    }
}
