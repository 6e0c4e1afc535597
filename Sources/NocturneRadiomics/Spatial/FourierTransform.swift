import Glibc

/// Discrete Fourier transforms of many sequences at once (Stockham's algorithm), in single precision.
///
/// Element n of sequence s is at n · `lanes` + s: the innermost loops run over sequences, in vectors. Real and imaginary parts are in separate arrays; exchanging them gives the inverse transform.
package struct FourierTransform: Sendable {
    /// The elements of a sequence.
    package let length: Int
    private let radices: [Int]
    private let cosines: [Float]
    private let sines: [Float]

    /// - Parameter length: a product of powers of 2, 3 and 5, see ``goodLength(atLeast:)``.
    package init(length: Int) {
        self.length = length
        // 4 before 2: one pass over memory instead of two.
        var radices: [Int] = []
        var left = length
        for radix in [4, 2, 3, 5] {
            while left % radix == 0 {
                radices.append(radix)
                left /= radix
            }
        }
        precondition(left == 1, "a length has the factors 2, 3 and 5")
        self.radices = radices
        let angles = (0..<length).map { -2 * Double.pi * Double($0) / Double(length) }
        // In double first: errors of the angles would grow with the length.
        cosines = angles.map { Float(cos($0)) }
        sines = angles.map { Float(sin($0)) }
    }

    /// The least length from `least` on that has only the factors 2, 3 and 5.
    package static func goodLength(atLeast least: Int) -> Int {
        var length = max(least, 1)
        while true {
            var left = length
            for factor in [2, 3, 5] {
                while left % factor == 0 { left /= factor }
            }
            if left == 1 { return length }
            length += 1
        }
    }

    /// Memory of `length` × `lanes` elements each.
    package struct Buffers {
        var real: UnsafeMutablePointer<Float>
        var imaginary: UnsafeMutablePointer<Float>

        /// - Parameters:
        ///   - real: memory that the caller allocates and frees.
        ///   - imaginary: as long as `real`.
        package init(real: UnsafeMutablePointer<Float>, imaginary: UnsafeMutablePointer<Float>) {
            (self.real, self.imaginary) = (real, imaginary)
        }

        var exchanged: Buffers { Buffers(real: imaginary, imaginary: real) }
    }

    /// Transforms `data`; `scratch` is overwritten.
    package func transform(_ data: Buffers, scratch: Buffers, lanes: Int) {
        // Each pass writes in the order that the next one reads. That takes a second array, and no pass that reorders.
        var (source, target) = (data, scratch)
        var (part, stride) = (length, 1)
        for radix in radices {
            for group in 0..<part / radix {
                let stage = Stage(group: group, groups: part / radix, run: stride * lanes, turn: group * stride)
                switch radix {
                case 2: pass2(source, target, stage)
                case 3: pass3(source, target, stage)
                case 4: pass4(source, target, stage)
                default: pass5(source, target, stage)
                }
            }
            part /= radix
            stride *= radix
            swap(&source, &target)
        }
        // After an odd number of passes the result is in the scratch memory.
        guard source.real != data.real else { return }
        data.real.update(from: source.real, count: length * lanes)
        data.imaginary.update(from: source.imaginary, count: length * lanes)
    }

    /// The butterflies of one twiddle factor.
    private struct Stage {
        let group: Int
        let groups: Int
        /// Elements that are next to each other.
        let run: Int
        /// The index of the first twiddle factor.
        let turn: Int

        @inline(__always)
        func input(_ part: Int) -> Int { run * (group + groups * part) }
    }

    @inline(__always)
    private func twiddle(_ stage: Stage, _ power: Int) -> (Float, Float) {
        // Factors repeat after `length`, so one table is enough for all passes.
        let place = stage.turn * power % length
        return (cosines[place], sines[place])
    }

    /// Calls `body` for every eight elements that are next to each other, and for the rest. Vectors are explicit, because the
    /// compiler makes few of loops over ten arrays.
    @inline(__always)
    private func eachVector(_ run: Int, _ body: (_ first: Int, _ count: Int) -> Void) {
        var first = 0
        while first + Vector.width <= run {
            body(first, Vector.width)
            first += Vector.width
        }
        if first < run { body(first, run - first) }
    }

    private func pass2(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let w1 = twiddle(stage, 1)
        let out = stage.run * 2 * stage.group
        eachVector(stage.run) { q, count in
            let a = x.load(stage.input(0) + q, count)
            let b = x.load(stage.input(1) + q, count)
            y.store(a + b, out + q, count)
            y.store((a - b).turned(w1), out + stage.run + q, count)
        }
    }

    private func pass3(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let (w1, w2) = (twiddle(stage, 1), twiddle(stage, 2))
        let out = stage.run * 3 * stage.group
        eachVector(stage.run) { q, count in
            let a = x.load(stage.input(0) + q, count)
            let b = x.load(stage.input(1) + q, count)
            let c = x.load(stage.input(2) + q, count)
            let sum = b + c
            // The sine of 60°; the cosine is one half.
            let difference = (0.8660254037844386 * (b - c)).clockwise
            let middle = a - 0.5 * sum
            y.store(a + sum, out + q, count)
            y.store((middle + difference).turned(w1), out + stage.run + q, count)
            y.store((middle - difference).turned(w2), out + 2 * stage.run + q, count)
        }
    }

    private func pass4(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let (w1, w2, w3) = (twiddle(stage, 1), twiddle(stage, 2), twiddle(stage, 3))
        let out = stage.run * 4 * stage.group
        eachVector(stage.run) { q, count in
            let a = x.load(stage.input(0) + q, count)
            let b = x.load(stage.input(1) + q, count)
            let c = x.load(stage.input(2) + q, count)
            let d = x.load(stage.input(3) + q, count)
            // A quarter turn only exchanges real and imaginary part: radix 4 multiplies by twiddle factors alone.
            let (e, f, g, h) = (a + c, a - c, b + d, (b - d).clockwise)
            y.store(e + g, out + q, count)
            y.store((f + h).turned(w1), out + stage.run + q, count)
            y.store((e - g).turned(w2), out + 2 * stage.run + q, count)
            y.store((f - h).turned(w3), out + 3 * stage.run + q, count)
        }
    }

    private func pass5(_ x: Buffers, _ y: Buffers, _ stage: Stage) {
        let (w1, w2) = (twiddle(stage, 1), twiddle(stage, 2))
        let (w3, w4) = (twiddle(stage, 3), twiddle(stage, 4))
        // Cosine and sine of 72°, and of 144°.
        let (u1, v1): (Float, Float) = (0.30901699437494745, 0.9510565162951535)
        let (u2, v2): (Float, Float) = (-0.8090169943749475, 0.5877852522924731)
        let out = stage.run * 5 * stage.group
        eachVector(stage.run) { place, count in
            let a = x.load(stage.input(0) + place, count)
            let b = x.load(stage.input(1) + place, count)
            let c = x.load(stage.input(2) + place, count)
            let d = x.load(stage.input(3) + place, count)
            let e = x.load(stage.input(4) + place, count)
            let (p, q, r, t) = (b + e, b - e, c + d, c - d)
            let f = a + u1 * p + u2 * r
            let g = (v1 * q + v2 * t).clockwise
            let h = a + u2 * p + u1 * r
            let k = (v2 * q - v1 * t).clockwise
            y.store(a + p + r, out + place, count)
            y.store((f + g).turned(w1), out + stage.run + place, count)
            y.store((h + k).turned(w2), out + 2 * stage.run + place, count)
            y.store((h - k).turned(w3), out + 3 * stage.run + place, count)
            y.store((f - g).turned(w4), out + 4 * stage.run + place, count)
        }
    }
}

extension FourierTransform {
    /// Complex numbers that are next to each other.
    fileprivate struct Vector {
        static let width = 8

        var real: SIMD8<Float>
        var imaginary: SIMD8<Float>

        @inline(__always)
        static func + (a: Vector, b: Vector) -> Vector {
            Vector(real: a.real + b.real, imaginary: a.imaginary + b.imaginary)
        }

        @inline(__always)
        static func - (a: Vector, b: Vector) -> Vector {
            Vector(real: a.real - b.real, imaginary: a.imaginary - b.imaginary)
        }

        @inline(__always)
        static func * (factor: Float, a: Vector) -> Vector {
            Vector(real: factor * a.real, imaginary: factor * a.imaginary)
        }

        /// Turned by a quarter: times −i.
        @inline(__always)
        var clockwise: Vector { Vector(real: imaginary, imaginary: -real) }

        /// Times a twiddle factor.
        @inline(__always)
        func turned(_ by: (cosine: Float, sine: Float)) -> Vector {
            Vector(
                real: real * by.cosine - imaginary * by.sine,
                imaginary: real * by.sine + imaginary * by.cosine
            )
        }
    }
}

extension FourierTransform.Buffers {
    /// - Parameter count: of the elements, at most those of a vector; the others are 0.
    @inline(__always)
    fileprivate func load(_ place: Int, _ count: Int) -> FourierTransform.Vector {
        if count == FourierTransform.Vector.width {
            return FourierTransform.Vector(
                real: UnsafeRawPointer(real + place).loadUnaligned(as: SIMD8<Float>.self),
                imaginary: UnsafeRawPointer(imaginary + place).loadUnaligned(as: SIMD8<Float>.self)
            )
        }
        var vector = FourierTransform.Vector(real: SIMD8(), imaginary: SIMD8())
        for lane in 0..<count {
            vector.real[lane] = real[place + lane]
            vector.imaginary[lane] = imaginary[place + lane]
        }
        return vector
    }

    @inline(__always)
    fileprivate func store(_ vector: FourierTransform.Vector, _ place: Int, _ count: Int) {
        if count == FourierTransform.Vector.width {
            UnsafeMutableRawPointer(real + place).storeBytes(of: vector.real, as: SIMD8<Float>.self)
            UnsafeMutableRawPointer(imaginary + place).storeBytes(of: vector.imaginary, as: SIMD8<Float>.self)
            return
        }
        for lane in 0..<count {
            real[place + lane] = vector.real[lane]
            imaginary[place + lane] = vector.imaginary[lane]
        }
    }
}
