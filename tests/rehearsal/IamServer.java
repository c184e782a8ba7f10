import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.Security;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.Subject;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.spi.LoginModule;
import javax.security.sasl.SaslException;
import javax.security.sasl.SaslServer;
import javax.security.sasl.SaslServerFactory;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;

/**
 * The broker's side of Amazon MSK's SASL mechanism AWS_MSK_IAM, which Amazon keeps to itself.
 *
 * <p>A client sends a URL for the action kafka-cluster:Connect, signed by AWS's Signature Version 4, as JSON; the
 * broker signs the same URL with the secret that it knows and compares. Both are described in the README of
 * github.com/aws/aws-msk-iam-auth. So a signature by the wrong key, for another host, region or service, or one that
 * has expired is refused here as it is there.
 */
public final class IamServer implements SaslServer {
    static final String MECHANISM = "AWS_MSK_IAM";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DateTimeFormatter AMZ_DATE =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final List<String> SIGNED =
            List.of("Action", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires",
                    "X-Amz-Security-Token", "X-Amz-SignedHeaders");

    private final Map<String, ?> expected;
    private String accessKey;

    IamServer(Map<String, ?> expected) {
        this.expected = expected;
    }

    @Override
    public byte[] evaluateResponse(byte[] response) throws SaslException {
        try {
            JsonNode sent = JSON.readTree(response);
            check("version", text(sent, "version"), "2020_10_22");
            check("host", text(sent, "host"), (String) expected.get("host"));
            check("action", text(sent, "action"), "kafka-cluster:Connect");
            check("session token", text(sent, "x-amz-security-token"), (String) expected.get("token"));
            Instant signed = AMZ_DATE.parse(text(sent, "x-amz-date"), Instant::from);
            Duration valid = Duration.ofSeconds(Long.parseLong(text(sent, "x-amz-expires")));
            if (Instant.now().isAfter(signed.plus(valid))) {
                throw new SaslAuthenticationException("the signature expired");
            }
            String day = text(sent, "x-amz-date").substring(0, 8);
            String scope = day + "/" + expected.get("region") + "/kafka-cluster/aws4_request";
            String key = (String) expected.get("access_key");
            check("credential", text(sent, "x-amz-credential"), key + "/" + scope);
            check("signature", text(sent, "x-amz-signature"), signature(sent, scope, day));
            accessKey = key;
            return JSON.writeValueAsBytes(Map.of("version", "2020_10_22", "request-id", "rehearsal"));
        } catch (IOException | GeneralSecurityException problem) {
            throw new SaslException("not as AWS_MSK_IAM wants it", problem);
        }
    }

    private String signature(JsonNode sent, String scope, String day) throws GeneralSecurityException {
        Map<String, String> query = new TreeMap<>();
        for (String name : SIGNED) {
            String value = text(sent, name.toLowerCase());
            if (!value.isEmpty()) {
                query.put(name, encoded(name) + "=" + encoded(value));
            }
        }
        String request = "GET\n/\n" + String.join("&", query.values()) + "\nhost:" + text(sent, "host")
                + "\n\nhost\n" + sha256("");
        String toSign = "AWS4-HMAC-SHA256\n" + text(sent, "x-amz-date") + "\n" + scope + "\n" + sha256(request);
        byte[] key = ("AWS4" + expected.get("secret_key")).getBytes(StandardCharsets.UTF_8);
        for (String part : List.of(day, (String) expected.get("region"), "kafka-cluster", "aws4_request")) {
            key = hmac(key, part);
        }
        return HexFormat.of().formatHex(hmac(key, toSign));
    }

    private static void check(String what, String found, String wanted) {
        if (!found.equals(wanted)) {
            throw new SaslAuthenticationException("the " + what + " is '" + found + "', not '" + wanted + "'");
        }
    }

    private static String text(JsonNode sent, String name) {
        return sent.path(name).asText("");
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A");
    }

    private static String sha256(String text) throws GeneralSecurityException {
        byte[] data = text.getBytes(StandardCharsets.UTF_8);
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
    }

    private static byte[] hmac(byte[] key, String text) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public String getMechanismName() {
        return MECHANISM;
    }

    @Override
    public boolean isComplete() {
        return accessKey != null;
    }

    @Override
    public String getAuthorizationID() {
        return accessKey;
    }

    @Override
    public byte[] unwrap(byte[] incoming, int offset, int length) {
        throw new IllegalStateException("no security layer");
    }

    @Override
    public byte[] wrap(byte[] outgoing, int offset, int length) {
        throw new IllegalStateException("no security layer");
    }

    @Override
    public Object getNegotiatedProperty(String name) {
        return null;
    }

    @Override
    public void dispose() {}

    /** Makes the mechanism known to the JVM, as a broker loads it from its JAAS configuration. */
    public static final class Login implements LoginModule {
        static {
            Security.addProvider(new Mechanisms());
        }

        @Override
        public void initialize(Subject subject, CallbackHandler handler, Map<String, ?> shared, Map<String, ?> options) {}

        @Override
        public boolean login() {
            return true;
        }

        @Override
        public boolean commit() {
            return true;
        }

        @Override
        public boolean abort() {
            return false;
        }

        @Override
        public boolean logout() {
            return true;
        }
    }

    private static final class Mechanisms extends Provider {
        Mechanisms() {
            super("IamServer", "1", "the broker's side of AWS_MSK_IAM");
            put("SaslServerFactory." + MECHANISM, Factory.class.getName());
        }
    }

    /** Found by its name in the provider. */
    public static final class Factory implements SaslServerFactory {
        @Override
        public SaslServer createSaslServer(
                String mechanism, String protocol, String server, Map<String, ?> properties, CallbackHandler handler) {
            return new IamServer(((Expected) handler).options);
        }

        @Override
        public String[] getMechanismNames(Map<String, ?> properties) {
            return new String[] {MECHANISM};
        }
    }

    /** Hands on what the JAAS configuration says: host, region, access_key, secret_key and token. */
    public static final class Expected implements AuthenticateCallbackHandler {
        private Map<String, ?> options = Map.of();

        @Override
        public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
            options = entries.get(0).getOptions();
        }

        @Override
        public void handle(Callback[] callbacks) {}

        @Override
        public void close() {}
    }
}
