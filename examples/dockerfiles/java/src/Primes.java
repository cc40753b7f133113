import java.util.BitSet;
import java.util.stream.IntStream;

/** Prints the primes below a number. */
public final class Primes {
	private Primes() {}

	static IntStream below(int limit) {
		BitSet sieve = new BitSet(limit);
		sieve.set(2, Math.max(2, limit));
		for (int i = 2; (long) i * i < limit; i = sieve.nextSetBit(i + 1)) {
			for (int multiple = i * i; multiple < limit; multiple += i) {
				sieve.clear(multiple);
			}
		}
		return sieve.stream();
	}

	public static void main(String[] arguments) {
		below(Integer.parseInt(arguments[0])).forEach(System.out::println);
	}
}
